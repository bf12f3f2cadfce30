import { postgresqlDdl } from '../components/postgresql/index.ts';
import type { CommandContext } from './command-context.ts';
import { readFlagsOnly } from './flags-only.ts';
import { postgresqlDdlHelp } from './help.ts';
import { POSTGRESQL_DDL_FLAGS } from './run-flags.ts';

const COMMAND = 'postgresql-ddl';

/** `insidecar postgresql-ddl`: prints the statements; returns the exit code. */
export function printDdl(args: readonly string[], context: CommandContext): number {
  const flags = readFlagsOnly(args, { name: COMMAND, flags: POSTGRESQL_DDL_FLAGS, help: postgresqlDdlHelp }, context);
  if (flags === undefined) return 0;
  context.stdout.write(postgresqlDdl(flags.text('schema')));
  return 0;
}
