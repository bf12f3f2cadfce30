import { type Flag, type FlagValues, readArguments } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { misuse } from './failure.ts';

/** A command that takes flags, and nothing else. */
export interface FlagsOnlyCommand {
  readonly name: string;
  readonly flags: readonly Flag[];
  readonly help: () => string;
}

/**
 * Reads the flags of a command, and prints notes about those without effect; `undefined` once it has printed its help,
 * if that is asked for. @throws Failure naming what was not expected.
 */
export function readFlagsOnly(
  args: readonly string[],
  { name, flags: known, help }: FlagsOnlyCommand,
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
): FlagValues | undefined {
  const { flags, rest, notes } = readArguments(args, known, name);
  if (flags.isOn('help') === true) {
    stdout.write(help());
    return undefined;
  }
  if (rest.length > 0) throw misuse(`expected flags only: actual is ${JSON.stringify(rest[0])}`, name);
  for (const note of notes) stderr.write(`${note}\n`);
  return flags;
}
