import type { AppHealthOptions } from '../app/health.ts';
import { isSwitchedOn } from '../util/environment-switch.ts';
import { withoutBrackets } from '../util/host.ts';
import type { WireName } from '../wire.ts';
import type { CommandLine, FlagValues } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { LOG_LEVELS, type LogLevel } from './log.ts';

/** The settings of one application and its sidecar. */
export interface AppSettings {
  readonly appId: string;
  /** Whether the settings come from a multi-app file instead of flags. */
  readonly isOfFile: boolean;
  readonly appPort?: number;
  /** Where it listens. Default: a loopback address. */
  readonly appHost?: string;
  readonly appProtocol: 'http' | 'grpc';
  readonly maxConcurrency?: number;
  readonly health?: AppHealthOptions;
  /** The sidecar's port; by default any free port. */
  readonly httpPort?: number;
  /** Whether to use a free port if the wanted one is taken: the command gets the actual one. */
  readonly mayMove: boolean;
  readonly resourcesPaths: readonly string[];
  readonly configPaths: readonly string[];
  readonly bodyLimitBytes?: number;
  /** The largest head of a request and of a response. */
  readonly headLimitBytes?: number;
  /** The program with its arguments; empty if it is started elsewhere. */
  readonly command: readonly string[];
  readonly directory: string;
  /** In addition to inherited variables and those set by the sidecar. */
  readonly environment: Readonly<Record<string, string>>;
  readonly logLevel?: LogLevel;
}

/** When a run of several applications ends: with the first failure, with the first exit, or with the last exit. */
export const STOP_WHEN = ['failure', 'any', 'all'] as const;

/** Settings common to all applications of a run. */
export interface RunSettings {
  /** At least one; the first is in URLs. */
  readonly listenAddresses: readonly string[];
  /** The host name for sidecars on other machines, if it is not the listen address. */
  readonly advertisedHost?: string;
  readonly wire: WireName;
  readonly statePath?: string;
  /** Whether state in memory is its own, and not that of all commands of the user. */
  readonly isIsolated: boolean;
  /** Replacements of component types. */
  readonly substitute: Readonly<Record<string, string>>;
  readonly stopWhen: (typeof STOP_WHEN)[number];
  readonly gracePeriodMs: number;
  readonly startTimeoutMs: number;
  /** The applications' time limit for a message, and for a run of a job. Default: that of the wire. */
  readonly deliveryTimeoutMs?: number;
  readonly jobTimeoutMs?: number;
  readonly allowedOrigins?: readonly string[];
  readonly allowedHosts?: readonly string[];
  /** Whether URLs can be targets of invocations. */
  readonly invokesUrls: boolean;
  /** Whether applications are asked for their subscriptions. */
  readonly asksApps: boolean;
  /** Whether the placement table is shown. */
  readonly showsPlacement: boolean;
  readonly logLevel?: LogLevel;
  readonly logAsJson: boolean;
  /** Where metrics are served. Default: nowhere. */
  readonly metrics?: { readonly port: number; readonly host: string };
  /** Whether there is an inspector. */
  readonly inspector?: InspectorSettings;
}

/** The settings of the inspector of a run. */
export interface InspectorSettings {
  /** By default one that is free. */
  readonly port?: number;
  /** By default one that is made for this run, or that of the environment. */
  readonly token?: string;
}

/** Equals the pattern in the sidecar. */
const APP_ID = /^[^./\s\p{Cc}]{1,256}$/u;
const HOST = /^[\w.:-]+$/;
const DEFAULT_HTTP_PORT = 3500;
/** The API document's variable, and Dapr's: the command does not ask which wire they are for. */
const PLACEMENT = ['SIDECAR_PLACEMENT_METADATA_ENABLED', 'DAPR_PLACEMENT_METADATA_ENABLED'];
const ISOLATED = 'INSIDECAR_ISOLATED';
const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

/** The names that the APIs of the sidecars use, and in which files are read. */
export function wireOf(flags: FlagValues): WireName {
  return flags.choice('wire', ['dapr', 'sidecar']) ?? 'dapr';
}

/** @throws Failure naming the flag and what was expected; SidecarError for a variable of the environment. */
export function runSettings(
  flags: FlagValues,
  { isTerminal, environment }: Pick<CommandContext, 'isTerminal' | 'environment'>,
): RunSettings {
  const seconds = (name: string, otherwise: number): number =>
    (flags.integer(name, { from: 0, to: 86_400 }) ?? otherwise) * 1_000;
  const advertisedHost = hostIn(flags, 'advertise-host');
  if (advertisedHost !== undefined && !HOST.test(advertisedHost))
    flags.refuse(`--advertise-host must be a host name or an IP address: actual is ${JSON.stringify(advertisedHost)}`);
  return {
    listenAddresses: listenAddresses(flags),
    asksApps: asksApps(flags),
    // The command is mostly used for applications written for Dapr. Applications written for insidecar use the library,
    // whose default is `sidecar`.
    wire: wireOf(flags),
    stopWhen: flags.choice('stop-when', STOP_WHEN) ?? 'failure',
    gracePeriodMs: seconds('graceful-shutdown-seconds', 10),
    startTimeoutMs: seconds('app-start-timeout', 10),
    substitute: substitutes(flags),
    invokesUrls: flags.isOn('invoke-urls') ?? true,
    showsPlacement: flags.isOn('metadata-enabled') ?? PLACEMENT.some((name) => isSwitchedOn(environment, name)),
    logAsJson: flags.isOn('log-json') ?? !isTerminal,
    isIsolated: flags.isOn('isolated') ?? isSwitchedOn(environment, ISOLATED),
    ...given('advertisedHost', advertisedHost),
    ...given('deliveryTimeoutMs', flags.durationMs('delivery-timeout')),
    ...given('jobTimeoutMs', flags.durationMs('job-timeout')),
    ...given('statePath', flags.text('state-path')),
    ...given('allowedOrigins', flags.text('allowed-origins')?.split(',')),
    ...given('allowedHosts', flags.text('allowed-hosts')?.split(',')),
    ...given('logLevel', flags.choice('log-level', LOG_LEVELS)),
    ...given('metrics', metricsAddress(flags)),
    ...given('inspector', inspectorSettings(flags)),
  };
}

/** The host of a flag; an IPv6 address may have brackets. */
function hostIn(flags: FlagValues, name: string): string | undefined {
  const text = flags.text(name);
  return text === undefined ? undefined : withoutBrackets(text);
}

/** In Dapr's form: separated by commas, IPv6 in brackets. Several arguments count like one. */
function listenAddresses(flags: FlagValues): readonly string[] {
  const written = flags.text('listen-address') ?? '127.0.0.1';
  const addresses = written.split(',').map((address) => withoutBrackets(address.trim()));
  if (addresses.some((address) => !HOST.test(address)))
    flags.refuse(`--listen-address must be addresses, with commas between them: actual is ${JSON.stringify(written)}`);
  return [...new Set(addresses)];
}

/** Whether applications are asked for their subscriptions. Their configuration is not asked for at all. */
function asksApps(flags: FlagValues): boolean {
  const names = flags.texts('disable-init-endpoints').flatMap((text) => text.split(',').map((name) => name.trim()));
  const unknown = names.find((name) => !['', 'config', 'subscribe'].includes(name.toLowerCase()));
  if (unknown !== undefined)
    flags.refuse(`--disable-init-endpoints must be config, subscribe or both: actual is ${JSON.stringify(unknown)}`);
  return !names.some((name) => name.toLowerCase() === 'subscribe');
}

/** daprd serves metrics unless it is told not to; here somebody has to ask for them by the port. */
function metricsAddress(flags: FlagValues): RunSettings['metrics'] {
  const port = portOrNone(flags, 'metrics-port');
  if (port === undefined || port < 0 || flags.isOn('enable-metrics') === false) return undefined;
  return { port, host: hostIn(flags, 'metrics-listen-address') ?? '127.0.0.1' };
}

function inspectorSettings(flags: FlagValues): InspectorSettings | undefined {
  const [text, token] = [flags.text('inspect'), flags.text('inspect-token')];
  if (text === undefined && token !== undefined) flags.lack('--inspect-token goes with --inspect');
  if (text === undefined) return undefined;
  return { ...given('port', text === '' ? undefined : flags.port('inspect')), ...given('token', token) };
}

/** The settings of the application of a run without a file. @throws Failure naming the flag and what was expected. */
export function appSettings({ flags, rest }: CommandLine, place: { appId?: string; directory: string }): AppSettings {
  const appId = flags.text('app-id') ?? place.appId ?? '';
  if (appId === '') flags.lack('--app-id is missing, and so is APP_ID: insidecar run --app-id orders -- node app.js');
  else if (!APP_ID.test(appId))
    flags.refuse(
      `--app-id must be 1 to 256 characters without dots, slashes and white space: actual is ${JSON.stringify(appId)}`,
    );
  if (rest[0] === '') flags.refuse('the command is empty');
  const wanted = portOrNone(flags, 'http-port');
  // As with `dapr run`, zero and negative numbers mean any free port.
  const httpPort = wanted === undefined ? DEFAULT_HTTP_PORT : Math.max(wanted, 0);
  const appPort = flags.integer('app-port', { from: -1, to: 65_535 });
  if (appPort !== undefined && appPort > 0 && appPort === httpPort)
    flags.refuse(`--app-port and --http-port must differ: both are ${appPort}`);
  return {
    appId,
    isOfFile: false,
    appProtocol: flags.choice('app-protocol', ['http', 'grpc']) ?? 'http',
    httpPort,
    mayMove: wanted === undefined && rest.length > 0,
    resourcesPaths: flags.texts('resources-path').flatMap((paths) => paths.split(',')),
    configPaths: flags.texts('config'),
    command: rest,
    directory: place.directory,
    environment: {},
    ...given('appHost', hostIn(flags, 'app-channel-address')),
    ...given('appPort', positive(appPort)),
    ...given('maxConcurrency', positive(flags.integer('app-max-concurrency', { from: -1 }))),
    ...given('health', healthSettings(flags)),
    ...limits(flags),
  };
}

/** The largest body and the largest head, by the flags and by their old forms, which are numbers without a unit. */
export function limits(flags: FlagValues): Pick<AppSettings, 'bodyLimitBytes' | 'headLimitBytes'> {
  const bytes = (name: string, old: string, unitBytes: number, to: number): number | undefined => {
    const isNumber = /^[+-]?\d*$/.test(flags.text(old) ?? '');
    const given = isNumber ? flags.integer(old, { from: 1, to }) : flags.bytes(old);
    return flags.bytes(name) ?? (given && given * (isNumber ? unitBytes : 1));
  };
  return {
    ...given('bodyLimitBytes', bytes('max-body-size', 'dapr-http-max-request-size', MEBIBYTE, 1024)),
    ...given('headLimitBytes', bytes('read-buffer-size', 'dapr-http-read-buffer-size', KIBIBYTE, 1024 * 1024)),
  };
}

/** The replacements of component types in all `--map` flags. @throws Failure for a malformed one. */
export function substitutes(flags: FlagValues): Readonly<Record<string, string>> {
  return Object.fromEntries(flags.texts('map').map((text) => substitution(text, flags)));
}

/** Parses `pubsub.redis=pubsub.in-memory`. The types are validated where they are used. */
function substitution(text: string, flags: FlagValues): readonly [type: string, replacement: string] {
  const [, type = '', replacement = ''] = /^([^=]+)=([^=]+)$/.exec(text) ?? [];
  if (type === '')
    flags.refuse(`--map must be TYPE=TYPE, such as pubsub.redis=pubsub.in-memory: actual is ${JSON.stringify(text)}`);
  return [type, replacement];
}

function healthSettings(flags: FlagValues): AppHealthOptions | undefined {
  if (flags.isOn('enable-app-health-check') !== true) return undefined;
  const seconds = positive(flags.integer('app-health-probe-interval', { from: -1, to: 86_400 }));
  return {
    ...given('path', flags.text('app-health-check-path')),
    ...given('interval', seconds && seconds * 1_000),
    ...given('timeout', positive(flags.integer('app-health-probe-timeout', { from: -1 }))),
    ...given('threshold', positive(flags.integer('app-health-threshold', { from: -1 }))),
  };
}

/** A port, or zero or a negative number, which scripts for Dapr write. */
function portOrNone(flags: FlagValues, name: string): number | undefined {
  const text = flags.text(name) ?? '';
  return /^(?:0|-\d{1,9})$/.test(text) ? Number(text) : flags.port(name);
}

/** Zero and negative numbers mean "not set" in Dapr. */
function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}

/** An object with the property, or empty if the value is `undefined`. */
export function given<Name extends string, Value>(name: Name, value: Value | undefined): { [N in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { [N in Name]?: Value });
}
