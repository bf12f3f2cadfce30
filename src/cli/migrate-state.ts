import { type MovedAmount, type MoveStep, moveState } from '../cluster/move-state.ts';
import { messageOf } from '../errors.ts';
import type { StateDefinition, StateStore } from '../state/store.ts';
import type { FlagValues } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { CommandFailure, misuse } from './failure.ts';
import { readFlagsOnly } from './flags-only.ts';
import { migrateStateHelp } from './help.ts';
import { openLog } from './log.ts';
import { labels } from './output.ts';
import { MIGRATE_STATE_FLAGS } from './run-flags.ts';
import { openState, stateAt } from './state-place.ts';

const COMMAND = 'migrate-state';
const PROGRESS_EVERY_MS = 1_000;

/** `insidecar migrate-state`: returns the exit code. */
export async function migrateState(args: readonly string[], context: CommandContext): Promise<number> {
  const flags = readFlagsOnly(args, { name: COMMAND, flags: MIGRATE_STATE_FLAGS, help: migrateStateHelp }, context);
  if (flags === undefined) return 0;
  const from = await placeOf('from', flags, context);
  const to = await placeOf('to', flags, context);
  if (from.place === to.place) throw misuse(`--from and --to are the same: ${String(from.place)}`, COMMAND);
  const loggers = openLog({
    ...{ level: 'warn', asJson: false, output: context.stderr, clock: context.clock, label: labels(['insidecar']) },
  });
  const opening = { clock: context.clock, logger: loggers('insidecar') };
  await using source = await openState(from, opening);
  await using target = await openState(to, opening);
  const { entries, bytes } = await move(source, target, context);
  if (entries === 0) throw new CommandFailure(`there is nothing in ${String(from.place)}`);
  context.stdout.write(
    `moved ${entries} entries (${bytes} bytes) from ${String(from.place)} to ${String(to.place)}; every one was compared\n`,
  );
  return 0;
}

/** Where the state is that a flag names. */
async function placeOf(name: 'from' | 'to', flags: FlagValues, context: CommandContext): Promise<StateDefinition> {
  const given = flags.text(name);
  if (given === undefined || given === '') throw misuse(`--${name} is missing: where the state is`, COMMAND);
  const flag = { name, appId: flags.text('app-id'), command: COMMAND, isThere: name === 'from' };
  return stateAt(given, flag, context);
}

async function move(source: StateStore, target: StateStore, context: CommandContext): Promise<MovedAmount> {
  const { clock, stderr } = context;
  let [hasBegun, toldAt] = [false, clock.now()];
  const onProgress = (step: MoveStep, { entries, bytes }: MovedAmount): void => {
    hasBegun ||= step !== 'waiting';
    if (clock.now() - toldAt < PROGRESS_EVERY_MS) return;
    toldAt = clock.now();
    const what =
      step === 'waiting' ? `to see whether ${entries} hosts are alive` : `${entries} entries, ${bytes} bytes`;
    stderr.write(`${step} ${what}\n`);
  };
  try {
    return await moveState({ source, target, clock, onProgress });
  } catch (error) {
    if (!hasBegun) throw error;
    throw new CommandFailure(
      `${messageOf(error)}\nThe target is incomplete, and no sidecar starts on it. Run the command again: it begins anew.`,
      undefined,
      error,
    );
  }
}
