import type { AppHealthOptions } from '../app/health.ts';
import type { WireName } from '../wire.ts';
import type { CommandLine, FlagValues } from './arguments.ts';
import { misuse } from './failure.ts';
import { LOG_LEVELS, type LogLevel } from './log.ts';

/** One application, and the sidecar beside it. */
export interface AppSettings {
  readonly appId: string;
  /** Whether a multi-app file says what follows, or flags do. */
  readonly isOfFile: boolean;
  readonly appPort?: number;
  readonly appHost: string;
  readonly appProtocol: 'http' | 'grpc';
  readonly maxConcurrency?: number;
  readonly health?: AppHealthOptions;
  /** The sidecar's own port; without one any free one will do. */
  readonly httpPort?: number;
  /** Take a free port when the wanted one is taken: the command is told which. */
  readonly mayMove: boolean;
  readonly resourcesPaths: readonly string[];
  readonly configPaths: readonly string[];
  readonly bodyLimitBytes?: number;
  /** The program with its arguments; empty when it is started elsewhere. */
  readonly command: readonly string[];
  readonly directory: string;
  /** Beside what it inherits and what the sidecar tells it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly logLevel?: LogLevel;
}

/** When a run with several applications ends: with the first that failed, with the first that ended, with the last. */
export const STOP_WHEN = ['failure', 'any', 'all'] as const;

/** What is common to all applications of a run. */
export interface RunSettings {
  readonly listenAddress: string;
  readonly wire: WireName;
  readonly statePath?: string;
  /** Component types that stand in for others. */
  readonly substitute: Readonly<Record<string, string>>;
  readonly stopWhen: (typeof STOP_WHEN)[number];
  readonly gracePeriodMs: number;
  readonly startTimeoutMs: number;
  readonly allowedOrigins?: readonly string[];
  /** Whether URLs are targets of invocations. */
  readonly invokesUrls: boolean;
  readonly logLevel?: LogLevel;
  readonly logAsJson: boolean;
}

/** As the sidecar has it. */
const APP_ID = /^[^./\s\p{Cc}]{1,256}$/u;
const DEFAULT_HTTP_PORT = 3500;
const MEBIBYTE = 1024 * 1024;

/** @throws Failure naming the flag and what was expected. */
export function runSettings(flags: FlagValues, isTerminal: boolean): RunSettings {
  const seconds = (name: string, otherwise: number): number =>
    (flags.integer(name, { from: 0, to: 86_400 }) ?? otherwise) * 1_000;
  const listenAddress = flags.text('listen-address') ?? '127.0.0.1';
  if (listenAddress.includes(','))
    throw misuse(`--listen-address must be one address: actual is ${JSON.stringify(listenAddress)}`);
  return {
    listenAddress,
    // For applications that were written for Dapr: they are what a command of this kind is started for. An
    // application of ours has the library, whose default is `sidecar`.
    wire: flags.choice('wire', ['dapr', 'sidecar']) ?? 'dapr',
    stopWhen: flags.choice('stop-when', STOP_WHEN) ?? 'failure',
    gracePeriodMs: seconds('graceful-shutdown-seconds', 10),
    startTimeoutMs: seconds('app-start-timeout', 10),
    substitute: substitutes(flags),
    invokesUrls: flags.isOn('invoke-urls') ?? true,
    logAsJson: flags.isOn('log-json') ?? !isTerminal,
    ...given('statePath', flags.text('state-path')),
    ...given('allowedOrigins', flags.text('allowed-origins')?.split(',')),
    ...given('logLevel', flags.choice('log-level', LOG_LEVELS)),
  };
}

/** The one application of a run without a file. @throws Failure naming the flag and what was expected. */
export function appSettings({ flags, rest }: CommandLine, place: { appId?: string; directory: string }): AppSettings {
  const appId = flags.text('app-id') ?? place.appId;
  if (appId === undefined || appId === '')
    throw misuse('--app-id is missing, and so is APP_ID: insidecar run --app-id orders -- node app.js');
  if (!APP_ID.test(appId))
    throw misuse(
      `--app-id must be 1 to 256 characters without dots, slashes and white space: actual is ${JSON.stringify(appId)}`,
    );
  if (rest[0] === '') throw misuse('the command is empty');
  const httpPort = flags.port('http-port');
  const megabytes = flags.integer('dapr-http-max-request-size', { from: 1, to: 1024 });
  const appPort = flags.integer('app-port', { from: -1, to: 65_535 });
  if (appPort !== undefined && appPort > 0 && appPort === (httpPort ?? DEFAULT_HTTP_PORT))
    throw misuse(`--app-port and --http-port must differ: both are ${appPort}`);
  return {
    appId,
    isOfFile: false,
    appHost: flags.text('app-channel-address') ?? '127.0.0.1',
    appProtocol: flags.choice('app-protocol', ['http', 'grpc']) ?? 'http',
    httpPort: httpPort ?? DEFAULT_HTTP_PORT,
    mayMove: httpPort === undefined && rest.length > 0,
    resourcesPaths: flags.texts('resources-path').flatMap((paths) => paths.split(',')),
    configPaths: flags.texts('config'),
    command: rest,
    directory: place.directory,
    environment: {},
    ...given('appPort', positive(appPort)),
    ...given('maxConcurrency', positive(flags.integer('app-max-concurrency', { from: -1 }))),
    ...given('health', healthSettings(flags)),
    ...given('bodyLimitBytes', flags.bytes('max-body-size') ?? (megabytes && megabytes * MEBIBYTE)),
  };
}

/** Component types that stand in for others: every `--map`. @throws Failure when one is not of that form. */
export function substitutes(flags: FlagValues): Readonly<Record<string, string>> {
  return Object.fromEntries(flags.texts('map').map(substitution));
}

/** `pubsub.redis=pubsub.in-memory`. What the types must be is said where they are used. */
function substitution(text: string): readonly [type: string, replacement: string] {
  const [, type = '', replacement = ''] = /^([^=]+)=([^=]+)$/.exec(text) ?? [];
  if (type === '')
    throw misuse(`--map must be TYPE=TYPE, such as pubsub.redis=pubsub.in-memory: actual is ${JSON.stringify(text)}`);
  return [type, replacement];
}

function healthSettings(flags: FlagValues): AppHealthOptions | undefined {
  if (flags.isOn('enable-app-health-check') !== true) return undefined;
  const seconds = positive(flags.integer('app-health-probe-interval', { from: -1, to: 86_400 }));
  return {
    ...given('path', flags.text('app-health-check-path')),
    ...given('intervalMs', seconds && seconds * 1_000),
    ...given('timeoutMs', positive(flags.integer('app-health-probe-timeout', { from: -1 }))),
    ...given('threshold', positive(flags.integer('app-health-threshold', { from: -1 }))),
  };
}

/** Zero and negative numbers stand for "not set" with Dapr. */
function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}

/** A property that is there only when it has a value. */
export function given<Name extends string, Value>(name: Name, value: Value | undefined): { [N in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { [N in Name]?: Value });
}
