import { sharedState } from '../cluster/shared-state.ts';
import { memoryState } from '../components/memory/memory-store.ts';
import { SECRET_VARIABLE } from '../security/identity-options.ts';
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
import type { RunPlace } from './runs/run-place.ts';
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

const DOCUMENTATION = 'https://github.com/insidecar/insidecar/blob/main/docs/cli.md';

/** `insidecar run`: returns the exit code. @throws Failure, or an error that keeps a sidecar from starting. */
export async function run(args: readonly string[], context: CommandContext): Promise<number> {
  const commandLine = readArguments(args, RUN_FLAGS, 'run', { isCollected: true });
  if (commandLine.flags.isOn('help') === true) {
    context.stdout.write(runHelp());
    return 0;
  }
  const { settings, own } = commandLine.flags.collect(() => ({
    settings: runSettings(commandLine.flags, context),
    own: ownApp(commandLine, context),
  }));
  const { apps, notes, runFile } = own ?? (await appsOf(commandLine, settings));
  const { environment } = context;
  const resources = await readResources(apps, { ...settings, environment, ...given('runFile', runFile) });

  const label = labels([...apps.map(({ appId }) => appId), 'insidecar']);
  let telemetry: RunTelemetry | undefined;
  const traceFields = (): object | undefined => telemetry?.logFields();
  const loggers = openLog({ ...context, ...logOptions(settings), output: context.stderr, label, traceFields });
  const log = loggers('insidecar');
  for (const note of [...notes, ...resources.notes]) log.warn({}, note);
  const wantsShared = !settings.isIsolated && !hasState(resources);
  // Loaded apart: what only a run needs, other commands do without.
  const { openPlace } = await import('./runs/run-place.ts');
  const hasInspector = settings.inspector !== undefined;
  const place = await openPlace({ ...context, runFile, hasInspector, wantsShared, logger: log });
  log.info({}, `insidecar ${VERSION}, state ${place.shared?.inWords ?? `in ${resources.state?.place ?? 'memory'}`}`);
  const inspector = settings.inspector === undefined ? '; --inspect serves a page that shows what happens' : '';
  log.info({}, `documentation: ${DOCUMENTATION}${inspector}`);
  telemetry = await telemetryOf(apps, { settings, resources, context, loggers });
  try {
    return await runApps(apps, { settings, resources, context, loggers, label, telemetry, place });
  } finally {
    await telemetry?.close();
  }
}

/** Whether there is a directory or a server for state, if only for the state stores of an application. */
function hasState({ state, byApp }: RunResources): boolean {
  return state !== undefined || [...byApp.values()].some(({ options }) => options.state?.place !== undefined);
}

interface Run {
  readonly settings: RunSettings;
  readonly resources: RunResources;
  readonly context: CommandContext;
  readonly loggers: Loggers;
  readonly label: LogOptions['label'];
  readonly telemetry: RunTelemetry | undefined;
  readonly place: RunPlace;
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
  const { settings, resources, context, loggers, label, telemetry, place } = run;
  const stops = new StopRequests();
  context.onStopSignal((signal) => stops.ask({ kind: 'signal', signal }));
  const guard = new OrphanReaper();
  try {
    const deps: SessionDeps = {
      run: settings,
      resources,
      telemetry,
      ...stateOf(run, () => stops.ask({ kind: 'failed', code: EXIT.failed })),
      clock: context.clock,
      environment: context.environment,
      process: { stdout: context.stdout, stderr: context.stderr, guard },
      prefix: (appId) => (to) => `${label(appId, to.isColoured)} | `,
      takesInput: apps.length === 1 && context.hasInput,
      ...(settings.inspector && { openInspector: inspectorOf(settings.inspector, context, loggers('insidecar')) }),
      ...given('register', place.register),
    };
    return await new Session(deps, loggers, stops).run(apps);
  } finally {
    guard.close();
  }
}

/** Loaded on demand: most runs have none. */
function inspectorOf(
  settings: InspectorSettings,
  { environment, clock, stdout }: CommandContext,
  logger: Logger,
): NonNullable<SessionDeps['openInspector']> {
  return async (apps) => {
    const { openRunInspector } = await import('./inspector/run-inspector.ts');
    return openRunInspector(apps, { settings, environment, clock, stdout, logger });
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

/** The application of a run without a file. */
function ownApp(commandLine: CommandLine, { environment, directory }: CommandContext): Apps | undefined {
  if (commandLine.flags.text('run-file') !== undefined) return undefined;
  const appId = environment['APP_ID'];
  return { apps: [appSettings(commandLine, { directory, ...given('appId', appId) })], notes: commandLine.notes };
}

async function appsOf(commandLine: CommandLine, { wire }: RunSettings): Promise<Apps> {
  const path = commandLine.flags.text('run-file') ?? '';
  const { apps, notes, file } = await (await import('./multi-app.ts')).readRunFile(path, commandLine, wire);
  return { apps, notes: [...commandLine.notes, ...notes], runFile: file };
}

/** One store for all applications: each keeps its own data in it, and they find each other through it. */
function stateOf(
  { resources, context: { clock, environment }, place: { shared } }: Run,
  onLost: () => void,
): Pick<SessionDeps, 'state' | 'components' | 'identity'> {
  // A server comes back by itself; a lost directory does not.
  const watched = (state: StateDefinition): StateDefinition =>
    state.type === 'embedded' ? watchState(state, clock, onLost) : state;
  if (shared !== undefined) {
    // A secret of the user's own proves more: to commands on other machines, too.
    const identity = environment[SECRET_VARIABLE] ? undefined : shared.identity;
    return { state: shared.state(watched, clock), components: new SharedComponents('shared'), identity };
  }
  const { state } = resources;
  const components = new SharedComponents(state === undefined ? 'memory' : 'kept');
  return { state: sharedState(watched(state ?? memoryState())), components, identity: undefined };
}
