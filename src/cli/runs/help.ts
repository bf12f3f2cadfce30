import type { Flag } from '../arguments.ts';
import { lineOf } from '../help.ts';
import { INVOKE_FLAGS, LIST_FLAGS, PUBLISH_FLAGS, STOP_FLAGS } from './flags.ts';

/** The flags in a help: those with a description. */
function linesOf(flags: readonly Flag[]): string {
  return flags.flatMap((flag) => (flag.help === undefined ? [] : [lineOf(flag)])).join('\n');
}

export function listHelp(): string {
  return `insidecar list [options] – print the applications that run

It lists the applications of all "insidecar run" commands of this user.

Options
${linesOf(LIST_FLAGS)}

Examples
  $ insidecar list
  $ insidecar list -o json | jq -r '.[].appId'
`;
}

export function stopHelp(): string {
  return `insidecar stop [options] [ID…] – stop commands that run applications

The command gets SIGTERM and ends as on Ctrl+C: first its application, then the
sidecar. All hosts of an application are stopped. A command that runs several
applications ends as a whole, with --run-file or the IDs of all of them.

Options
${linesOf(STOP_FLAGS)}

Exit codes
  0 all have ended, 1 one does not run or has not ended, 2 a wrong command line

Examples
  insidecar stop --app-id orders
  insidecar stop -f .
`;
}

export function publishHelp(): string {
  return `insidecar publish [options] – publish a message

The sidecar of an application that runs publishes it. JSON with id, source,
specversion and type is a CloudEvent; other text that is no JSON is plain text.
The API token, if there is one, is read from DAPR_API_TOKEN (SIDECAR_API_TOKEN).

Options
${linesOf(PUBLISH_FLAGS)}

Exit codes
  0 published, 1 not published, 2 a wrong command line

Example
  insidecar publish -i checkout --pubsub pubsub --topic orders -d '{"id":1}'
`;
}

export function invokeHelp(): string {
  return `insidecar invoke [options] – call an application

Its answer goes to standard output, and the status to standard error. The API
token, if there is one, is read from DAPR_API_TOKEN (SIDECAR_API_TOKEN).

Options
${linesOf(INVOKE_FLAGS)}

Exit codes
  0 answered, 1 not reached, or a status of 400 and above, 2 a wrong command line

Examples
  insidecar invoke --app-id orders --method orders/1 --verb GET
  insidecar invoke -a orders -m orders -d '{"id":1}'
`;
}
