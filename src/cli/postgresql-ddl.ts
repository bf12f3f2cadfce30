import { postgresqlDdl } from '../components/postgresql/index.ts';
import { readArguments } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { misuse } from './failure.ts';
import { postgresqlDdlHelp } from './help.ts';
import { POSTGRESQL_DDL_FLAGS } from './run-flags.ts';

const COMMAND = 'postgresql-ddl';

/** `insidecar postgresql-ddl`: prints the statements; returns the exit code. */
export function printDdl(args: readonly string[], { stdout }: CommandContext): number {
  const { flags, rest } = readArguments(args, POSTGRESQL_DDL_FLAGS, COMMAND);
  if (flags.isOn('help') === true) {
    stdout.write(postgresqlDdlHelp());
    return 0;
  }
  if (rest.length > 0) throw misuse(`expected flags only: actual is ${JSON.stringify(rest[0])}`, COMMAND);
  stdout.write(postgresqlDdl(flags.text('schema')));
  return 0;
}
