import { basename, dirname, resolve } from 'node:path';
import type { Logger } from '../util/logger.ts';
import { type WireName, wireNames } from '../wire.ts';
import { inCaseOf } from './document-case.ts';
import { PathResolver } from './multi-app-paths.ts';
import {
  APP_ID,
  MULTI_APP_SCHEMA,
  type RunFile,
  type RunFileApp,
  type RunFileScalar,
  type RunFileShared,
  UNUSED_FIELDS,
} from './multi-app-schema.ts';
import { withoutEmpties, withoutNulls } from './present-members.ts';
import { Report, type ResourceFinding } from './report.ts';
import { documentCheck } from './validate.ts';
import type { YamlDocument, YamlPath } from './yaml-document.ts';
import { readYamlFile } from './yaml-file.ts';

/** Where to write the output of an application. @public */
export type LogDestination = 'console' | 'file' | 'fileAndConsole';

/** Health checks of an application in a multi-app file. Absent fields: the sidecar's defaults. @public */
export interface MultiAppHealth {
  /** The path as written in the file. */
  readonly path?: string;
  /** The interval of the probes, in milliseconds. */
  readonly probeIntervalMs?: number;
  /** The timeout of a probe, in milliseconds. */
  readonly probeTimeoutMs?: number;
  /** Failures after which the application is unhealthy. */
  readonly threshold?: number;
}

/** One application of a multi-app file, with the shared settings applied. @public */
export interface MultiAppEntry {
  /** The app ID; by default the name of its directory. */
  readonly appId: string;
  /** Its directory, absolute. */
  readonly appDirPath: string;
  /** The port of the application. */
  readonly appPort?: number;
  /** The host of the application. */
  readonly appChannelAddress?: string;
  /** Its protocol: `http`, `https`, `h2c`, `grpc` or `grpcs`. Default: `http`. */
  readonly appProtocol: string;
  /** The command with its arguments; empty if the application is started elsewhere. */
  readonly command: readonly string[];
  /** Its environment variables, including the shared ones. */
  readonly env: Readonly<Record<string, string>>;
  /** Directories and files with resources, absolute. */
  readonly resourcesPaths: readonly string[];
  /** A file with a Configuration, absolute. */
  readonly configFilePath?: string;
  /** The port of its sidecar's HTTP API. */
  readonly daprHTTPPort?: number;
  /** Max concurrent requests to it. */
  readonly appMaxConcurrency?: number;
  /** Present if health checks are enabled. */
  readonly health?: MultiAppHealth;
  /** Where to write its output. Default: `fileAndConsole`. */
  readonly appLogDestination: LogDestination;
  /** Where to write its sidecar's output. Default: `file`. */
  readonly daprdLogDestination: LogDestination;
  /** The sidecar's log level as written in the file. */
  readonly logLevel?: string;
  /** The largest request body, in bytes. */
  readonly bodyLimitBytes?: number;
  /** The largest head of a request and of a response, in bytes. */
  readonly headLimitBytes?: number;
}

/** A multi-app file. @public */
export interface MultiApp {
  /** The file, absolute. */
  readonly file: string;
  /** The `name` of the file, if it has one. */
  readonly name?: string;
  /** Its applications, in order. */
  readonly apps: readonly MultiAppEntry[];
  /** Unused parts of the file. */
  readonly notes: readonly ResourceFinding[];
}

/** Options of {@link loadMultiApp}. @public */
export interface MultiAppOptions {
  /** Logs unused parts of the file. Default: no log; see {@link MultiApp.notes}. */
  readonly logger?: Logger | undefined;
  /**
   * The names that the APIs of the sidecars use. With `dapr`, keys and choices such as `appProtocol: HTTP` are
   * understood in any case; with `sidecar` they are case-sensitive. Default: `sidecar`.
   */
  readonly wire?: WireName | undefined;
}

const check = documentCheck(MULTI_APP_SCHEMA, { unused: UNUSED_FIELDS });

/**
 * Reads a multi-app run template (`dapr.yaml`, version 1). Paths under `common` and `appDirPath` are relative to the
 * file, those of an application to its `appDirPath`. An application without `resourcesPaths` uses
 * `<appDirPath>/.dapr/resources` if it exists, else the shared ones; its configuration is found in the same way.
 *
 * @throws SidecarError `ERR_CONFIGURATION` with all problems, each with file, line and column.
 * @public
 */
export async function loadMultiApp(path: string, options: MultiAppOptions = {}): Promise<MultiApp> {
  const file = resolve(path);
  const report = new Report();
  const [written, second] = await readYamlFile(path, report);
  if (second !== undefined) report.problem(second.location(), 'a multi-app file has one document');
  let apps: readonly MultiAppEntry[] = [];
  let name: string | undefined;
  if (written === undefined && report.problems.length === 0)
    report.problem({ file: path, document: 0, line: 0, column: 0 }, 'it is empty: expected version and apps');
  if (written !== undefined) {
    const present = written.mapped(withoutNulls);
    const isInAnyCase = wireNames(options.wire ?? 'sidecar').keysInAnyCase;
    const inCase = isInAnyCase ? inCaseOf(present, MULTI_APP_SCHEMA, report) : present;
    const document = inCase.mapped((value) => withoutEmpties(value, MULTI_APP_SCHEMA));
    const template = soundPart(document.value, check(document, report));
    name = template.name;
    apps = await resolveApps(template, dirname(file), document, report);
  }
  report.sort();
  report.throwProblems(path);
  for (const { message, ...location } of report.notes) options.logger?.warn(location, message);
  return { file, ...(name === undefined ? {} : { name }), apps, notes: report.notes };
}

const PATH_FIELDS: readonly unknown[] = ['appID', 'appDirPath', 'resourcesPath', 'resourcesPaths', 'configFilePath'];

/** The valid parts, whose paths can be checked although others are invalid: all problems are reported together. */
function soundPart(value: unknown, wrong: readonly YamlPath[]): SoundRunFile {
  const { name, common, apps } = Object(value) as RunFile;
  const isSound = (...part: YamlPath): boolean =>
    !wrong.some((at) => part.every((step, index) => at[index] === String(step)) && concernsPaths(at, part.length));
  return {
    ...(isSound('name') ? { name } : undefined),
    ...(isSound('common') ? { common } : undefined),
    apps: Array.isArray(apps) ? apps.map((app, index) => (isSound('apps', index) ? app : undefined)) : [],
  };
}

function concernsPaths(at: YamlPath, partLength: number): boolean {
  return at.length === partLength || PATH_FIELDS.includes(at[partLength]);
}

/** A multi-app file without its invalid parts. */
interface SoundRunFile {
  readonly name?: string | undefined;
  readonly common?: RunFileShared | undefined;
  readonly apps: readonly (RunFile['apps'][number] | undefined)[];
}

async function resolveApps(
  template: SoundRunFile,
  baseDir: string,
  document: YamlDocument,
  report: Report,
): Promise<MultiAppEntry[]> {
  const shared = template.common ?? {};
  const seen = new Map<string, number>();
  const apps: MultiAppEntry[] = [];
  for (const [index, app] of template.apps.entries()) {
    if (app === undefined) continue;
    const resolver = new PathResolver(document, report);
    const appDirPath = await resolver.existing(baseDir, app.appDirPath, ['apps', index, 'appDirPath']);
    const appId = app.appID ?? basename(appDirPath);
    const earlier = seen.get(appId);
    if (earlier !== undefined)
      report.problem(
        document.location(['apps', index]),
        `app ID ${JSON.stringify(appId)} is that of apps[${earlier}] too`,
      );
    else if (!/^[^./\s]{1,256}$/.test(appId))
      report.problem(
        document.location(['apps', index]),
        `the directory gives the app ID ${JSON.stringify(appId)}: expected ${APP_ID}, or appID`,
      );
    seen.set(appId, index);
    const { common, own } = {
      common: { at: ['common'], from: baseDir },
      own: { at: ['apps', index], from: appDirPath },
    };
    const resourcesPaths =
      (await resolver.resources(app, own)) ??
      (await resolver.byConvention(appDirPath, 'resources').then(asList)) ??
      (await resolver.resources(shared, common)) ??
      [];
    const configFilePath =
      (await resolver.config(app, own)) ??
      (await resolver.byConvention(appDirPath, 'config.yaml')) ??
      (await resolver.config(shared, common));
    const found = { appId, appDirPath, resourcesPaths, ...(configFilePath === undefined ? {} : { configFilePath }) };
    apps.push({
      ...settingsOf({ ...shared, ...app }),
      command: textsAt(document, app.command, [...own.at, 'command']),
      env: { ...textsOf(document, shared.env, ['common', 'env']), ...textsOf(document, app.env, [...own.at, 'env']) },
      ...found,
    });
  }
  return apps;
}

/** Scalars as they are written: `1.10` and `~` are texts to a command. */
function textsAt(document: YamlDocument, values: readonly RunFileScalar[] = [], at: YamlPath): string[] {
  return values.map((value, index) => document.text([...at, index]) ?? String(value));
}

function textsOf(
  document: YamlDocument,
  values: Readonly<Record<string, RunFileScalar>> = {},
  at: YamlPath,
): Record<string, string> {
  const entries = Object.entries(values).map(([name, value]) => [name, document.text([...at, name]) ?? String(value)]);
  return Object.fromEntries(entries);
}

type SettingsOfFile = Omit<MultiAppEntry, 'appId' | 'appDirPath' | 'resourcesPaths' | 'command' | 'env'>;

/** The settings that do not depend on the file system. */
function settingsOf(app: RunFileApp): SettingsOfFile {
  return {
    appProtocol: protocolOf(app),
    appLogDestination: app.appLogDestination ?? 'fileAndConsole',
    daprdLogDestination: app.daprdLogDestination ?? 'file',
    ...whenPositive('appPort', app.appPort),
    ...whenPositive('daprHTTPPort', app.daprHTTPPort),
    ...whenPositive('appMaxConcurrency', app.appMaxConcurrency),
    ...(app.appChannelAddress ? { appChannelAddress: app.appChannelAddress } : {}),
    ...(app.logLevel ? { logLevel: app.logLevel } : {}),
    ...(app.enableAppHealthCheck === true ? { health: healthOf(app) } : {}),
    ...whenPositive('bodyLimitBytes', sizeOf(app.maxBodySize, app.daprHTTPMaxRequestSize, 'Mi')),
    ...whenPositive('headLimitBytes', sizeOf(app.readBufferSize, app.daprHTTPReadBufferSize, 'Ki')),
  };
}

function protocolOf({ appProtocol = 'http', appSSL = false }: RunFileApp): string {
  return appSSL && (appProtocol === 'http' || appProtocol === 'grpc') ? `${appProtocol}s` : appProtocol;
}

function healthOf(app: RunFileApp): MultiAppHealth {
  return {
    ...(app.appHealthCheckPath ? { path: app.appHealthCheckPath } : {}),
    ...whenPositive('probeIntervalMs', (app.appHealthProbeInterval ?? 0) * 1_000),
    ...whenPositive('probeTimeoutMs', app.appHealthProbeTimeout),
    ...whenPositive('threshold', app.appHealthThreshold),
  };
}

/** Zero and negative numbers mean "not set". */
function whenPositive<Name extends string>(name: Name, value: number | undefined): { [N in Name]?: number } {
  return value === undefined || value <= 0 ? {} : ({ [name]: value } as { [N in Name]?: number });
}

const UNIT_BYTES: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
};

/** A size, else the number of units of its old form; `undefined` if neither is given. */
function sizeOf(size: string | number | undefined, old: number | undefined, unit: 'Ki' | 'Mi'): number | undefined {
  if (size !== undefined) return bytesOf(size);
  return old === undefined ? undefined : bytesOf(`${old}${unit}`);
}

/** Parses a Kubernetes quantity such as `4Mi`; the schema has checked its form. */
function bytesOf(size: string | number): number {
  const [, amount = '', unit = ''] = /^(-?[\d.]+)([A-Za-z]*)$/.exec(String(size)) ?? [];
  return Math.floor(Number(amount) * (UNIT_BYTES[unit] ?? 1));
}

function asList(path: string | undefined): string[] | undefined {
  return path === undefined ? undefined : [path];
}
