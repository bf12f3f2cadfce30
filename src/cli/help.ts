import type { Flag } from './arguments.ts';
import { RUN_GROUPS } from './run-flags.ts';

const FLAG_WIDTH = 37;

const GENERAL = `insidecar – a sidecar's HTTP API for an application in any language

Usage
  insidecar run [options] [-- command]  a sidecar, and the command beside it
  insidecar run -f dapr.yaml            all apps of a multi-app file
  insidecar validate [options] PATH…    check resource or multi-app files
  insidecar --version                   the version
  insidecar COMMAND --help              the options of a command

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

const VALIDATE = `insidecar validate [options] PATH… – checks resource files, runs nothing

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
  -h, --help           this text

Exit codes
  0 no problems (notes are possible), 1 problems were found,
  2 a wrong command line

Example
  $ insidecar validate ./resources
  ./resources: 2 Components, 1 Subscription
`;

export function generalHelp(): string {
  return GENERAL;
}

export function validateHelp(): string {
  return VALIDATE;
}

export function runHelp(): string {
  const groups = RUN_GROUPS.map(({ title, flags }) => `${[title, ...flags.map(lineOf)].join('\n')}\n`);
  return [
    'insidecar run [options] [-- command] – a sidecar, and the command beside it\n',
    ...groups,
    'The command gets APP_ID, APP_PORT, DAPR_HTTP_PORT and SIDECAR_HTTP_PORT. Tokens',
    'are read from DAPR_API_TOKEN (SIDECAR_API_TOKEN) and APP_API_TOKEN, the secret',
    'that proves the app ID to other sidecars from SIDECAR_IDENTITY_SECRET. Flags of',
    'Dapr that mean nothing here are accepted with a note. Ctrl+C stops the command,',
    'then the sidecar; a second one kills.\n',
  ].join('\n');
}

function lineOf({ name, short, value, help = '' }: Flag): string {
  const flag = `  ${short === undefined ? '    ' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
  return `${flag.padEnd(FLAG_WIDTH)} ${help}`;
}
