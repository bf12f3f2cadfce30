import type { Flag } from './arguments.ts';
import { RUN_GROUPS } from './run-flags.ts';

const FLAG_WIDTH = 37;

const GENERAL = `insidecar – a sidecar's HTTP API for an application in any language

Usage
  insidecar run [options] [-- command]  run a sidecar, and the command beside it
  insidecar run -f dapr.yaml            run all apps of a multi-app file
  insidecar list, stop, publish, invoke  find and use what other commands run
  insidecar validate [options] PATH…    check resource or multi-app files
  insidecar queues [action]             manage queues and their messages
  insidecar dead-letters [action]       redeliver or discard dead letters
  insidecar jobs [action]               schedule, run and manage jobs
  insidecar workflows [action]          start, repeat and manage workflows
  insidecar actors [action]             look at actors, manage reminders
  insidecar migrate-state --from … --to …  move state to another store
  insidecar postgresql-ddl [--schema …]  print the tables of state in PostgreSQL
  insidecar completion SHELL            print a completion: bash, zsh or fish
  insidecar --version                   print the version
  insidecar help COMMAND                print the options of a command

Examples
  insidecar run --app-id orders --app-port 3000 -- node app.js
  insidecar run --app-id orders --app-port 3000 -d ./resources -- python3 app.py
  insidecar run -f .
  insidecar validate ./resources

Exit codes
  that of the command (128 + n when signal n ended it); 1 the sidecar failed,
  2 a wrong command line, 126 the command may not be executed,
  127 it was not found

In a Node application the sidecar needs no command:
  import { Sidecar } from 'insidecar'
Documentation: docs/cli.md and docs/migrating-from-dapr.md in the package.
`;

const VALIDATE = `insidecar validate [options] PATH… – check resource files, run nothing

Usage
  insidecar validate ./resources              its *.yaml and *.yml files
  insidecar validate ./resources ./dapr.yaml  a multi-app file, too

Every document is read as "insidecar run" reads it: Component, Subscription,
HTTPEndpoint, Configuration and Resiliency, with apiVersion dapr.io/… or
sidecar.io/…. Nothing is opened. Secrets and variables that files refer to are
looked up to report missing ones; their values are never shown.

It prints one line per problem, "file:line: what is wrong and what was
expected", on standard error, and what it found on standard output.

Options
  -a, --app-id ID      resources for this application; default: for any
  -c, --config FILE    a Configuration resource
      --map TYPE=TYPE  use one component type for another; repeat
      --wire NAME      as for run: dapr (default), sidecar
  -h, --help           this text

Exit codes
  0 no problems (notes are possible), 1 problems were found,
  2 a wrong command line

Example
  $ insidecar validate ./resources
  ./resources: 2 Components, 1 Subscription
`;

const MIGRATE_STATE = `insidecar migrate-state --from PLACE --to PLACE – move state to another store

Usage
  insidecar migrate-state --from ./.insidecar --to ./state.yaml
  insidecar migrate-state --from ./state.yaml --to redis://127.0.0.1:6379

A PLACE is a directory (as --state-path), the URL of a server (postgresql://…,
redis://…, rediss://…), or a *.yaml file with a component state.postgresql,
state.redis or state.sqlite. Everybody on the machine can read a URL on a
command line: a password belongs into a file, by secretKeyRef or envRef.

Stop all sidecars of the source first. The target must be empty. Everything is
copied and then compared, entry by entry; the source stays as it is. If the
command is interrupted, no sidecar starts on the target: run it again, and it
begins anew.

Options
      --from PLACE  where the state is
      --to PLACE    where it is to be
  -a, --app-id ID   for files with scopes or {appID}
  -h, --help        this text

Exit codes
  0 moved, 1 not moved, 2 a wrong command line
`;

const POSTGRESQL_DDL = `insidecar postgresql-ddl [--schema NAME] – print the tables of state

It prints the statements that create the tables and functions of this release,
for databases where the application may not do that itself. They may be run
again. The user of the sidecars needs USAGE on the schema and all rights on its
tables.

Options
      --schema NAME  the schema (insidecar)
  -h, --help         this text

Example
  insidecar postgresql-ddl --schema shop | psql "$DATABASE_URL"
`;

export function generalHelp(): string {
  return GENERAL;
}

export function migrateStateHelp(): string {
  return MIGRATE_STATE;
}

export function postgresqlDdlHelp(): string {
  return POSTGRESQL_DDL;
}

export function validateHelp(): string {
  return VALIDATE;
}

export function runHelp(): string {
  const groups = RUN_GROUPS.map(({ title, flags }) => `${[title, ...flags.map(lineOf)].join('\n')}\n`);
  return [
    'insidecar run [options] [-- command] – run a sidecar, and the command beside it\n',
    ...groups,
    'The command gets APP_ID, APP_PORT, DAPR_HTTP_PORT and SIDECAR_HTTP_PORT. Tokens',
    'are read from DAPR_API_TOKEN (SIDECAR_API_TOKEN) and APP_API_TOKEN, the secret',
    'that proves the app ID to other sidecars from SIDECAR_IDENTITY_SECRET. Flags of',
    'Dapr that mean nothing here are accepted with a note. Ctrl+C stops the command,',
    'then the sidecar; a second one kills.\n',
  ].join('\n');
}

/** A flag in the help. */
export function lineOf({ name, short, value, mayBeBare, help = '' }: Flag): string {
  const shown = value === undefined ? '' : mayBeBare ? `[=${value}]` : ` ${value}`;
  const flag = `  ${short === undefined ? '    ' : `-${short}, `}--${name}${shown}`;
  return `${flag.padEnd(FLAG_WIDTH)} ${help}`;
}
