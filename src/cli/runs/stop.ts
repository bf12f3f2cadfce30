import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { accepts } from '../../app/http-channel.ts';
import { sleep } from '../../util/clock.ts';
import { readArguments } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { CommandFailure, misuse } from '../failure.ts';
import { askSidecar } from './ask-sidecar.ts';
import { STOP_FLAGS } from './flags.ts';
import { stopHelp } from './help.ts';
import { liveRuns, type RunInfo } from './run-files.ts';
import { appsNamed } from './running-apps.ts';

const COMMAND = 'stop';
/** Longer than a command waits for its application by default. */
const PATIENCE_MS = 30_000;
const PROBE_MS = 20;

/** `insidecar stop`: stops commands and waits for their end; returns the exit code. */
export async function stop(args: readonly string[], context: CommandContext): Promise<number> {
  const { stdout, stderr, environment } = context;
  const { flags, rest, notes } = readArguments(args, STOP_FLAGS, COMMAND, { isMixed: true });
  if (flags.isOn('help') === true) {
    stdout.write(stopHelp());
    return 0;
  }
  for (const note of notes) stderr.write(`${note}\n`);
  const [appIds, file] = [[...flags.texts('app-id'), ...rest], flags.text('run-file')];
  if (appIds.length > 0 && file !== undefined) throw misuse('--app-id does not go with --run-file', COMMAND);
  if (appIds.length === 0 && file === undefined) throw misuse('expected --app-id ID or --run-file FILE', COMMAND);
  const runs = file === undefined ? runsOf(appIds, environment) : runsOfFile(file, context);
  for (const run of runs) await signal(run, environment);
  for (const run of runs) await ended(run, context);
  for (const { apps } of runs) for (const { appId } of apps) stdout.write(`stopped ${appId}\n`);
  return 0;
}

/** The runs of applications. @throws Failure if one of them runs others as well: it ends as a whole. */
function runsOf(appIds: readonly string[], environment: NodeJS.ProcessEnv): readonly RunInfo[] {
  const runs = new Map<number, RunInfo>();
  for (const appId of appIds) for (const { run } of appsNamed(appId, environment)) runs.set(run.pid, run);
  for (const { pid, apps, runFile } of runs.values()) {
    const others = apps.filter(({ appId }) => !appIds.includes(appId)).map(({ appId }) => appId);
    if (others.length === 0) continue;
    const whole = runFile === undefined ? '' : `: insidecar stop --run-file ${runFile}`;
    throw new CommandFailure(`process ${pid} runs ${others.join(', ')} as well, and ends as a whole${whole}`);
  }
  return [...runs.values()];
}

function runsOfFile(given: string, { directory, environment }: CommandContext): readonly RunInfo[] {
  const path = resolve(directory, given);
  // As with `run -f`.
  const file = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? join(path, 'dapr.yaml') : path;
  const runs = liveRuns(environment).filter(({ runFile }) => runFile === file);
  if (runs.length === 0) throw new CommandFailure(`no command runs the applications of ${JSON.stringify(file)}`);
  return runs;
}

async function signal({ pid, apps }: RunInfo, environment: NodeJS.ProcessEnv): Promise<void> {
  const [first] = apps;
  // Windows has no signals. Elsewhere a process is not asked by its number before its port answers: the number may be
  // that of another one by now, which only Linux tells.
  if (process.platform === 'win32' && first !== undefined)
    await askSidecar(first, { method: 'POST', path: '/v1.0/shutdown' }, environment);
  else if (process.platform === 'linux' || (first && (await accepts(first.httpPort, new URL(first.url).hostname))))
    process.kill(pid, 'SIGTERM');
}

async function ended({ pid, apps }: RunInfo, { environment, clock }: CommandContext): Promise<void> {
  const isThere = (): boolean => liveRuns(environment).some((run) => run.pid === pid);
  for (let waited = 0; isThere(); waited += PROBE_MS) {
    if (waited >= PATIENCE_MS) {
      const names = apps.map(({ appId }) => appId).join(', ');
      throw new CommandFailure(`process ${pid} (${names}) still runs after ${PATIENCE_MS / 1_000} s`);
    }
    await sleep(clock, PROBE_MS);
  }
}
