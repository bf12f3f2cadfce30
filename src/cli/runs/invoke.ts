import { METHODS } from 'node:http';
import { harmlessLines } from '../../util/harmless-text.ts';
import type { CommandContext } from '../command-context.ts';
import { CommandFailure, misuse } from '../failure.ts';
import { readFlagsOnly } from '../flags-only.ts';
import { askSidecar, contentOf, dataOf, escapedPath } from './ask-sidecar.ts';
import { INVOKE_FLAGS } from './flags.ts';
import { invokeHelp } from './help.ts';
import { oneApp } from './running-apps.ts';

const COMMAND = 'invoke';
const NEW_LINE = '\n';

/** `insidecar invoke`: calls an application that runs, and prints its answer; returns the exit code. */
export async function invoke(args: readonly string[], context: CommandContext): Promise<number> {
  const { stdout, stderr, environment } = context;
  const flags = readFlagsOnly(args, { name: COMMAND, flags: INVOKE_FLAGS, help: invokeHelp }, context);
  if (flags === undefined) return 0;
  const path = flags.text('method');
  if (path === undefined) throw misuse('--method is missing', COMMAND);
  const method = verbOf(flags.text('verb') ?? 'POST');
  const body = await dataOf(flags, context, COMMAND);
  const app = oneApp(flags.text('app-id'), { environment, flag: 'app-id', about: COMMAND });
  const { appId } = app;
  const target = `/v1.0/invoke/${encodeURIComponent(appId)}/method/${escapedPath(path.replace(/^\/+/, ''))}`;
  const contentType = body && contentOf(body).type;
  const { status, body: answer } = await askSidecar(app, { method, path: target, contentType, body }, environment);
  if (status >= 400) throw new CommandFailure(`${appId} answered ${status}: ${harmlessLines(String(answer))}`);
  if (answer.length > 0) {
    stdout.write(answer);
    if (!answer.toString('latin1').endsWith(NEW_LINE)) stdout.write(NEW_LINE);
  }
  stderr.write(`${appId} answered ${status}\n`);
  return 0;
}

function verbOf(written: string): string {
  const verb = written.toUpperCase();
  if (METHODS.includes(verb) && verb !== 'CONNECT') return verb;
  throw misuse(`--verb must be a method of HTTP such as GET: actual is ${JSON.stringify(written)}`, COMMAND);
}
