import { resolve } from 'node:path';
import { isStateError } from '../../state/errors.ts';
import type { Logger } from '../../util/logger.ts';
import type { CommandContext } from '../command-context.ts';
import type { SessionDeps } from '../hosted-app.ts';
import { given } from '../settings.ts';
import { Registration } from './registration.ts';
import { runDirectory } from './run-files.ts';
import type { SharedPlace } from './shared-place.ts';

/** A run among the other commands of the user. */
export interface RunPlace {
  /** The state that it shares with them. */
  readonly shared: SharedPlace | undefined;
  /** Tells them of the run; `undefined` if no place for that is safe. */
  readonly register: SessionDeps['register'];
}

/** What {@link openPlace} needs. */
export interface RunPlaceDeps extends Pick<CommandContext, 'environment' | 'directory' | 'clock'> {
  readonly runFile: string | undefined;
  readonly hasInspector: boolean;
  /** Whether the run would else have a state of its own, in memory. */
  readonly wantsShared: boolean;
  readonly logger: Logger;
}

const NO_PLACE =
  'there is no directory that only this user may use: other commands do not find this one, and operating it takes --url and a token';

export async function openPlace(deps: RunPlaceDeps): Promise<RunPlace> {
  const { environment, directory, clock, runFile, hasInspector, logger } = deps;
  const runs = runDirectory(environment);
  if (runs === undefined) {
    // A container whose files are read-only has no other commands.
    logger[hasInspector ? 'warn' : 'info']({}, NO_PLACE);
    return { shared: undefined, register: undefined };
  }
  const shared = await sharedIn(runs, deps);
  const startedAt = new Date(clock.now()).toISOString();
  const run = { directory, startedAt, ...given('runFile', runFile && resolve(directory, runFile)) };
  const register: RunPlace['register'] = (apps, inspector) =>
    Registration.open({ directory: runs, shared, run, logger }, apps, inspector);
  return { shared, register };
}

/** Loaded on demand: other runs need no SQLite. */
async function sharedIn(
  runs: string,
  { wantsShared, logger }: Pick<RunPlaceDeps, 'wantsShared' | 'logger'>,
): Promise<SharedPlace | undefined> {
  if (!wantsShared) return undefined;
  try {
    return await (await import('./shared-place.ts')).SharedPlace.in(runs);
  } catch (error) {
    if (!isStateError(error) || error.kind !== 'driver-missing') throw error;
    logger.info({}, `this command shares nothing with others: ${error.message}`);
    return undefined;
  }
}
