import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { embeddedState } from '../components/embedded/index.ts';
import { postgresqlState } from '../components/postgresql/index.ts';
import { redisState } from '../components/redis/index.ts';
import { formatFinding, loadResources } from '../resources/index.ts';
import type { StateContext, StateDefinition, StateStore } from '../state/store.ts';
import type { CommandContext } from './command-context.ts';
import { misuse } from './failure.ts';

/** How a command names state. */
export interface StateFlag {
  /** The name of the flag, without dashes. */
  readonly name: string;
  /** The application for which a resource file is read. */
  readonly appId: string | undefined;
  /** The command, for its errors. */
  readonly command: string;
  /** Whether the directory must be there. */
  readonly isThere: boolean;
}

/**
 * The state that a flag names: a directory, the URL of a server, or a resource file with a state component.
 *
 * @throws Failure if there is no such directory or component. No error shows a URL, which may have a password.
 */
export async function stateAt(given: string, flag: StateFlag, context: CommandContext): Promise<StateDefinition> {
  const { name, isThere, command } = flag;
  if (/^postgres(ql)?:\/\//i.test(given)) return postgresqlState(given);
  if (/^rediss?:\/\//i.test(given)) return redisState({ url: given });
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(given)?.[1];
  if (scheme !== undefined)
    throw misuse(`--${name} has a URL of ${scheme}: expected postgresql, postgres, redis or rediss`, command);
  const path = resolve(context.directory, given);
  if (/\.ya?ml$/.test(path)) return ofFile(path, flag, context);
  if (isThere && !existsSync(join(path, 'state.db')))
    throw misuse(`--${name} ${JSON.stringify(given)} is no directory with state: there is no state.db in it`, command);
  // A command works on what is stopped, or asks what runs.
  return embeddedState({ path, exclusive: true });
}

async function ofFile(path: string, { appId = 'app', command }: StateFlag, context: CommandContext) {
  const { environment, directory } = context;
  const place = { appId, environment, workingDirectory: directory, wire: 'dapr' } as const;
  const { options, notes } = await loadResources([path], place);
  for (const note of notes) context.stderr.write(`${formatFinding(note)} (not an error)\n`);
  if (options.state === undefined || options.state.type === 'memory')
    throw misuse(`${path} has no component of state that is kept (for the application ${appId}: --app-id)`, command);
  return options.state;
}

/** Opens a store. @throws its failure, if its server does not answer. */
export async function openState(definition: StateDefinition, context: StateContext): Promise<StateStore> {
  const store = await definition.open(context);
  const { failure } = store;
  if (failure === undefined) return store;
  await store.close();
  throw failure;
}
