import { sharedState } from '../cluster/shared-state.ts';
import { memoryState } from '../components/memory/memory-store.ts';
import type { StateDefinition } from '../state/store.ts';
import type { Logger } from '../util/logger.ts';
import { VERSION } from '../version.ts';
import { type CommandLine, readArguments } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { EXIT } from './failure.ts';
import { runHelp } from './help.ts';
import type { SessionDeps } from './hosted-app.ts';
import { type Loggers, type LogOptions, openLog } from './log.ts';
import { labels } from './output.ts';
import { OrphanReaper } from './process/orphan-reaper.ts';
import { type RunResources, readResources } from './resources.ts';
import { RUN_FLAGS } from './run-flags.ts';
import type { RunTelemetry } from './run-telemetry.ts';
import { Session, StopRequests, watchState } from './session.ts';
import {
  type AppSettings,
  appSettings,
  given,
  type InspectorSettings,
  type RunSettings,
  runSettings,
} from './settings.ts';
import { SharedComponents } from './sidecar-options.ts';

/** `insidecar run`: returns the exit code. @throws Failure, or an error that keeps a sidecar from starting. */
export async function run(args: readonly string[], context: CommandContext): Promise<number> {
  const commandLine = readArguments(args, RUN_FLAGS, 'run');
  if (commandLine.flags.isOn('help') === true) {
    context.stdout.write(runHelp());
    return 0;
  }
  const settings = runSettings(commandLine.flags, context);
  const { apps, notes, runFile } = await appsOf(commandLine, settings, context);
  const { environment } = context;
  const resources = await readResources(apps, { ...settings, environment, ...given('runFile', runFile) });

  const label = labels([...apps.map(({ appId }) => appId), 'insidecar']);
  let telemetry: RunTelemetry | undefined;
  const traceFields = (): object | undefined => telemetry?.logFields();
  const loggers = openLog({ ...context, ...logOptions(settings), output: context.stderr, label, traceFields });
  const log = loggers('insidecar');
  for (const note of [...notes, ...resources.notes]) log.warn({}, note);
  log.info({}, `insidecar ${VERSION}, state in ${resources.state?.place ?? 'memory'}`);
  telemetry = await telemetryOf(apps, { settings, resources, context, loggers });
  try {
    return await runApps(apps, { settings, resources, context, loggers, label, telemetry });
  } finally {
    await telemetry?.close();
  }
}

interface Run {
  readonly settings: RunSettings;
  readonly resources: RunResources;
  readonly context: CommandContext;
  readonly loggers: Loggers;
  readonly label: LogOptions['label'];
  readonly telemetry: RunTelemetry | undefined;
}

/** Loaded on demand: most runs have none. */
async function telemetryOf(
  apps: readonly AppSettings[],
  { settings, resources, context, loggers }: Pick<Run, 'settings' | 'resources' | 'context' | 'loggers'>,
): Promise<RunTelemetry | undefined> {
  const { environment, clock } = context;
  const isAskedFor = [...resources.byApp.values()].some(({ telemetry }) => telemetry !== undefined);
  if (settings.metrics === undefined && !isAskedFor && !environment['OTEL_EXPORTER_OTLP_ENDPOINT']) return undefined;
  const { RunTelemetry: Opened } = await import('./run-telemetry.ts');
  const appIds = apps.map(({ appId }) => appId);
  const log = loggers('insidecar');
  return Opened.open({ metrics: settings.metrics, appIds, resources: resources.byApp, environment, clock, log });
}

async function runApps(apps: readonly AppSettings[], run: Run): Promise<number> {
  const { settings, resources, context, loggers, label, telemetry } = run;
  const stops = new StopRequests();
  context.onStopSignal((signal) => stops.ask({ kind: 'signal', signal }));
  const guard = new OrphanReaper();
  try {
    const deps: SessionDeps = {
      run: settings,
      resources,
      telemetry,
      state: runState(resources.state, context, () => stops.ask({ kind: 'failed', code: EXIT.failed })),
      components: new SharedComponents(resources.state !== undefined),
      clock: context.clock,
      environment: context.environment,
      process: { stdout: context.stdout, stderr: context.stderr, guard },
      prefix: (appId) => (to) => `${label(appId, to.isColoured)} | `,
      takesInput: apps.length === 1 && context.hasInput,
      ...(settings.inspector && { openInspector: inspectorOf(settings.inspector, context, loggers('insidecar')) }),
    };
    return await new Session(deps, loggers, stops).run(apps);
  } finally {
    guard.close();
  }
}

/** Loaded on demand: most runs have none. */
function inspectorOf(
  settings: InspectorSettings,
  { environment, directory, clock, stdout }: CommandContext,
  logger: Logger,
): NonNullable<SessionDeps['openInspector']> {
  return async (apps) => {
    const { openRunInspector } = await import('./inspector/run-inspector.ts');
    return openRunInspector(apps, { settings, environment, directory, clock, stdout, logger });
  };
}

function logOptions({ logLevel, logAsJson }: RunSettings): Pick<LogOptions, 'level' | 'asJson'> {
  return { level: logLevel ?? 'info', asJson: logAsJson };
}

interface Apps {
  readonly apps: readonly AppSettings[];
  readonly notes: readonly string[];
  readonly runFile?: string;
}

async function appsOf(
  commandLine: CommandLine,
  { wire }: RunSettings,
  { environment, directory }: CommandContext,
): Promise<Apps> {
  const path = commandLine.flags.text('run-file');
  if (path === undefined) {
    const appId = environment['APP_ID'];
    return { apps: [appSettings(commandLine, { directory, ...given('appId', appId) })], notes: commandLine.notes };
  }
  const { apps, notes, file } = await (await import('./multi-app.ts')).readRunFile(path, commandLine, wire);
  return { apps, notes: [...commandLine.notes, ...notes], runFile: file };
}

/** One store for all applications: each keeps its own data in it, and they find each other through it. */
function runState(
  state: StateDefinition = memoryState(),
  { clock }: CommandContext,
  onLost: () => void,
): StateDefinition {
  // A server comes back by itself; a lost directory does not.
  return sharedState(state.type === 'embedded' ? watchState(state, clock, onLost) : state);
}
