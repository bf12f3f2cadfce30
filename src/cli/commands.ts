import { isSidecarError, messageOf } from '../errors.ts';
import { isStateError } from '../state/errors.ts';
import { harmlessLines } from '../util/harmless-text.ts';
import { suggest } from '../util/suggest.ts';
import { VERSION } from '../version.ts';
import type { CommandContext } from './command-context.ts';
import { CommandFailure, EXIT } from './failure.ts';
import { generalHelp } from './help.ts';
import { inWordsOfCommand } from './option-names.ts';

const COMMANDS = [
  ...['run', 'list', 'stop', 'publish', 'invoke', 'validate'],
  ...['queues', 'dead-letters', 'jobs', 'workflows', 'actors', 'migrate-state', 'postgresql-ddl'],
  'completion',
];

/** Runs a command line to its end and reports errors; returns the exit code. */
export async function runCommandLine(args: readonly string[], context: CommandContext): Promise<number> {
  try {
    return await dispatch(args, context);
  } catch (error) {
    // Names of an application may be in it.
    context.stderr.write(`insidecar: ${harmlessLines(told(error))}\n`);
    return error instanceof CommandFailure ? error.exitCode : EXIT.failed;
  }
}

async function dispatch(args: readonly string[], context: CommandContext): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    case 'run':
      return (await import('./run.ts')).run(rest, context);
    case 'list':
      return (await import('./runs/list.ts')).list(rest, context);
    case 'stop':
      return (await import('./runs/stop.ts')).stop(rest, context);
    case 'publish':
      return (await import('./runs/publish.ts')).publish(rest, context);
    case 'invoke':
      return (await import('./runs/invoke.ts')).invoke(rest, context);
    case 'validate':
      return (await import('./validate.ts')).validate(rest, context);
    case 'migrate-state':
      return (await import('./migrate-state.ts')).migrateState(rest, context);
    case 'postgresql-ddl':
      return (await import('./postgresql-ddl.ts')).printDdl(rest, context);
    case 'completion':
      return (await import('./completion.ts')).printCompletion(rest, context);
    case 'queues':
    case 'dead-letters':
    case 'jobs':
    case 'workflows':
    case 'actors':
      return (await import('./operate/operate.ts')).operate(command, rest, context);
    case '--version':
    case '-v':
    case 'version':
      context.stdout.write(`${VERSION}\n`);
      return 0;
    case '--help':
    case '-h':
    case 'help':
      // `insidecar help run` is `insidecar run --help`.
      if (rest[0] !== undefined && !rest[0].startsWith('-')) return dispatch([rest[0], '--help'], context);
      context.stdout.write(generalHelp());
      return 0;
    case undefined:
      context.stderr.write(generalHelp());
      return EXIT.usage;
    default: {
      const meant = suggest(command, [...COMMANDS, '--version', '--help']);
      const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
      throw new CommandFailure(`unknown command ${command}.${hint}\nSee insidecar --help.`, EXIT.usage);
    }
  }
}

/** The text of an error: the message if it is meant for users, else the stack. */
function told(thrown: unknown): string {
  const error = inWordsOfCommand(thrown);
  if (error instanceof CommandFailure || isSidecarError(error) || isStateError(error)) return messageOf(error);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
