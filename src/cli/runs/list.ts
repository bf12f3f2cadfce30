import { harmlessJson } from '../../util/harmless-text.ts';
import type { CommandContext } from '../command-context.ts';
import { readFlagsOnly } from '../flags-only.ts';
import { type Column, tableOf } from '../operate/table.ts';
import { lasting } from '../operate/text.ts';
import { LIST_FLAGS } from './flags.ts';
import { listHelp } from './help.ts';
import { type RunningApp, runningApps } from './running-apps.ts';

const COMMAND = 'list';

/** `insidecar list`: prints the applications that run; returns the exit code. */
export function list(args: readonly string[], context: CommandContext): number {
  const { stdout, stderr, columns: width, environment, clock } = context;
  const flags = readFlagsOnly(args, { name: COMMAND, flags: LIST_FLAGS, help: listHelp }, context);
  if (flags === undefined) return 0;
  const format = flags.choice('output', ['table', 'json']) ?? 'table';
  const apps = runningApps(environment);
  const ageOf = ({ run }: RunningApp): string => lasting(clock.now() - Date.parse(run.startedAt));
  if (format === 'json') stdout.write(`${harmlessJson(apps.map((app) => jsonOf(app, ageOf(app))))}\n`);
  else if (apps.length === 0) stderr.write('no application runs with insidecar run\n');
  else stdout.write(tableOf(apps, columnsOf(ageOf), { width, isColoured: stdout.isColoured }));
  return 0;
}

/** The columns of `dapr list`; those that are empty everywhere are left out. */
function columnsOf(ageOf: (app: RunningApp) => string): readonly Column<RunningApp>[] {
  return [
    { title: 'APP ID', of: ({ app }) => app.appId },
    { title: 'HTTP PORT', of: ({ app }) => app.httpPort, isNumber: true },
    { title: 'APP PORT', of: ({ app }) => app.appPort, isNumber: true },
    { title: 'COMMAND', of: ({ app }) => app.command, isLong: true },
    { title: 'AGE', of: ageOf, isNumber: true },
    { title: 'CREATED', of: ({ run }) => run.startedAt },
    { title: 'CLI PID', of: ({ run }) => run.pid, isNumber: true },
    { title: 'APP PID', of: ({ app }) => app.appPid, isNumber: true },
    { title: 'RUN TEMPLATE PATH', of: ({ run }) => run.runFile, isLong: true },
  ];
}

/** The names of `dapr list -o json`. The sidecar is part of the command's process, and has no port for gRPC. */
function jsonOf({ run, app }: RunningApp, age: string): object {
  return {
    appId: app.appId,
    httpPort: app.httpPort,
    grpcPort: 0,
    appPort: app.appPort ?? 0,
    command: app.command ?? '',
    age,
    created: run.startedAt,
    daprdPid: run.pid,
    cliPid: run.pid,
    appPid: app.appPid ?? 0,
    runTemplatePath: run.runFile ?? '',
    directory: run.directory,
  };
}
