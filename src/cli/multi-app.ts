import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { AppHealthOptions } from '../app/health.ts';
import { formatFinding, loadMultiApp, type MultiAppEntry, type MultiAppHealth } from '../resources/index.ts';
import { withoutBrackets } from '../util/host.ts';
import type { WireName } from '../wire.ts';
import type { CommandLine } from './arguments.ts';
import { CommandFailure, misuse } from './failure.ts';
import { LOG_LEVELS, type LogLevel } from './log.ts';
import { type AppSettings, given, limits } from './settings.ts';

/** Settings of each application in a multi-app file, which are therefore not allowed on the command line. */
const BELONG_INTO_FILE = [
  'app-id',
  'app-port',
  'app-protocol',
  'app-channel-address',
  'app-max-concurrency',
  'enable-app-health-check',
  'app-health-check-path',
  'app-health-probe-interval',
  'app-health-probe-timeout',
  'app-health-threshold',
  'http-port',
];

/** A multi-app file, ready to run. */
export interface RunFileSettings {
  /** The file, absolute. */
  readonly file: string;
  readonly apps: readonly AppSettings[];
  readonly notes: readonly string[];
}

/** @throws Failure or SidecarError with all problems, each with file and line. */
export async function readRunFile(
  path: string,
  { flags, rest }: CommandLine,
  wire: WireName,
): Promise<RunFileSettings> {
  const misplaced = flags.given.find((name) => BELONG_INTO_FILE.includes(name));
  if (misplaced !== undefined)
    throw misuse(`--${misplaced} does not go with --run-file: the file says it for each app`);
  if (rest.length > 0)
    throw misuse(`a command does not go with --run-file: actual is ${JSON.stringify(rest.join(' '))}`);
  const { file, apps, notes } = await loadMultiApp(fileAt(path), { wire });
  const shared = {
    resourcesPaths: flags.texts('resources-path').flatMap((paths) => paths.split(',')),
    configPaths: flags.texts('config'),
    ...limits(flags),
  };
  const problems = [...sharedPorts(apps), ...apps.flatMap(problemsOf)];
  if (problems.length > 0) throw new CommandFailure(problems.join('\n'));
  return { file, apps: apps.map((app) => settingsOf(app, shared)), notes: notes.map(formatFinding) };
}

/** Requests would reach the wrong application. Applications started elsewhere may share a port. */
function sharedPorts(apps: readonly MultiAppEntry[]): readonly string[] {
  const users = new Map<number, string>();
  const problems: string[] = [];
  const take = (port: number | undefined, user: string): void => {
    if (port === undefined) return;
    const other = users.get(port);
    if (other === undefined) users.set(port, user);
    else problems.push(`${user} must differ from ${other}: both are ${port}`);
  };
  for (const { appId, daprHTTPPort } of apps) take(daprHTTPPort, `daprHTTPPort of ${appId}`);
  for (const { appId, appPort, command } of apps) if (command.length > 0) take(appPort, `appPort of ${appId}`);
  return problems;
}

function problemsOf(app: MultiAppEntry): readonly string[] {
  const { appId, appProtocol, appPort, daprHTTPPort, command, logLevel } = app;
  const problems: string[] = [];
  if (appProtocol !== 'http' && appProtocol !== 'grpc')
    problems.push(`appProtocol of ${appId} must be http or grpc: actual is ${JSON.stringify(appProtocol)}`);
  if (logLevel !== undefined && logLevelOf({ logLevel }) === undefined)
    problems.push(
      `logLevel of ${appId} must be one of ${LOG_LEVELS.join(', ')}: actual is ${JSON.stringify(logLevel)}`,
    );
  if (command[0] === '') problems.push(`the command of ${appId} is empty`);
  // With a command, the check of all ports already reports this.
  if (command.length === 0 && appPort !== undefined && appPort === daprHTTPPort)
    problems.push(`appPort and daprHTTPPort of ${appId} must differ: both are ${appPort}`);
  return problems;
}

/** Dapr takes it in any case. */
function logLevelOf({ logLevel }: Pick<MultiAppEntry, 'logLevel'>): LogLevel | undefined {
  return LOG_LEVELS.find((level) => level === logLevel?.toLowerCase());
}

function healthOf({ path, probeIntervalMs, probeTimeoutMs, threshold }: MultiAppHealth): AppHealthOptions {
  return {
    ...given('path', path),
    ...given('interval', probeIntervalMs),
    ...given('timeout', probeTimeoutMs),
    ...given('threshold', threshold),
  };
}

/** A directory means its `dapr.yaml`, as with `dapr run -f`. */
function fileAt(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? join(path, 'dapr.yaml') : path;
  if (existsSync(found)) return found;
  throw misuse(`${JSON.stringify(found)} cannot be read: expected a multi-app file, or a directory with dapr.yaml`);
}

function settingsOf(
  app: MultiAppEntry,
  shared: Pick<AppSettings, 'resourcesPaths' | 'configPaths' | 'bodyLimitBytes' | 'headLimitBytes'>,
): AppSettings {
  const { appId, appProtocol, appPort, daprHTTPPort } = app;
  return {
    appId,
    isOfFile: true,
    appProtocol: appProtocol === 'grpc' ? 'grpc' : 'http',
    mayMove: false,
    resourcesPaths: [...app.resourcesPaths, ...shared.resourcesPaths],
    configPaths: [...(app.configFilePath === undefined ? [] : [app.configFilePath]), ...shared.configPaths],
    command: app.command,
    directory: app.appDirPath,
    environment: app.env,
    ...given('appHost', app.appChannelAddress && withoutBrackets(app.appChannelAddress)),
    ...given('appPort', appPort),
    ...given('httpPort', daprHTTPPort),
    ...given('maxConcurrency', app.appMaxConcurrency),
    ...given('health', app.health && healthOf(app.health)),
    ...given('bodyLimitBytes', shared.bodyLimitBytes ?? app.bodyLimitBytes),
    ...given('headLimitBytes', shared.headLimitBytes ?? app.headLimitBytes),
    ...given('logLevel', logLevelOf(app)),
  };
}
