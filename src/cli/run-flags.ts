import type { Flag } from './arguments.ts';

/** Flags under a heading of the help. */
export interface FlagGroup {
  readonly title: string;
  readonly flags: readonly Flag[];
}

export const HELP: Flag = { name: 'help', short: 'h', help: 'this text' };
const APP_ID: Flag = { name: 'app-id', short: 'a', option: 'appId', value: 'ID', help: 'its name (or APP_ID)' };
const CONFIG: Flag = { name: 'config', short: 'c', value: 'FILE', help: 'a Configuration resource' };
const WIRE: Flag = { name: 'wire', option: 'wire', value: 'NAME', help: 'names in the API: dapr (default), sidecar' };
const MAP: Flag = { name: 'map', value: 'TYPE=TYPE', help: 'use one component type for another; repeat' };

/** The flags of `insidecar run`, named after those of daprd and `dapr run`. */
export const RUN_GROUPS: readonly FlagGroup[] = [
  {
    title: 'Application',
    flags: [
      APP_ID,
      { name: 'app-port', short: 'p', option: 'app.port', value: 'PORT', help: 'its port; without one it only calls' },
      { name: 'app-protocol', short: 'P', option: 'app.protocol', value: 'NAME', help: 'http (default) or grpc' },
      { name: 'app-channel-address', option: 'app.host', value: 'HOST', help: 'where it listens (127.0.0.1)' },
      {
        name: 'app-max-concurrency',
        option: 'app.maxConcurrency',
        value: 'N',
        help: 'max concurrent requests (no limit)',
      },
      { name: 'enable-app-health-check', option: 'app.health', help: 'deliver only while it is healthy' },
      {
        name: 'app-health-check-path',
        option: 'app.health.path',
        value: 'PATH',
        help: 'the route to probe (/healthz)',
      },
      {
        name: 'app-health-probe-interval',
        option: 'app.health.interval',
        value: 'S',
        help: 'seconds between two probes (5)',
      },
      {
        name: 'app-health-probe-timeout',
        option: 'app.health.timeout',
        value: 'MS',
        help: 'milliseconds a probe may take (500)',
      },
      {
        name: 'app-health-threshold',
        option: 'app.health.threshold',
        value: 'N',
        help: 'failures until it is unhealthy (3)',
      },
      {
        name: 'app-start-timeout',
        option: 'app.startTimeout',
        value: 'S',
        help: 'warn if it is not ready after that (10)',
      },
      {
        name: 'delivery-timeout',
        option: 'deliveryTimeout',
        value: 'DURATION',
        help: 'its time for a message (no limit)',
      },
      { name: 'job-timeout', option: 'jobs.timeout', value: 'DURATION', help: 'its time for a job run (no limit)' },
    ],
  },
  {
    title: 'Sidecar',
    flags: [
      { name: 'http-port', short: 'H', value: 'PORT', aliases: ['dapr-http-port'], help: 'its HTTP API (3500)' },
      {
        name: 'listen-address',
        value: 'HOSTS',
        aliases: ['dapr-listen-addresses'],
        help: 'where it listens (127.0.0.1)',
      },
      { name: 'advertise-host', option: 'address', value: 'HOST', help: 'the host that other machines call' },
      { name: 'allowed-hosts', option: 'allowedHosts', value: 'NAMES', help: 'more names by which clients reach it' },
      WIRE,
      {
        name: 'resources-path',
        short: 'd',
        value: 'DIR',
        aliases: ['components-path', 'resources-paths'],
        help: 'resource files; may be repeated',
      },
      CONFIG,
      MAP,
      { name: 'state-path', option: 'state', value: 'DIR', help: 'keep state there (default: in memory)' },
      { name: 'invoke-urls', option: 'invocation.urls', help: 'URLs as targets of calls (on)' },
      { name: 'metadata-enabled', option: 'dapr.placement.enabled', help: 'show the placement table (off)' },
      { name: 'metrics-port', short: 'M', value: 'PORT', help: 'serve metrics to Prometheus there' },
      { name: 'metrics-listen-address', value: 'HOST', help: 'where those are served (127.0.0.1)' },
      {
        name: 'max-body-size',
        short: 'B',
        option: 'bodyLimitBytes',
        value: 'SIZE',
        help: 'the largest request body (4Mi)',
      },
      { name: 'read-buffer-size', option: 'headLimitBytes', value: 'SIZE', help: 'the largest head, both ways (16Ki)' },
    ],
  },
  {
    title: 'Run',
    flags: [
      { name: 'run-file', short: 'f', value: 'FILE', help: 'run all apps of FILE or FILE/dapr.yaml' },
      { name: 'stop-when', value: 'WHEN', help: 'with -f: failure (default), any, all' },
      {
        name: 'graceful-shutdown-seconds',
        option: 'stopTimeout',
        value: 'S',
        aliases: ['dapr-graceful-shutdown-seconds'],
        help: 'how long to wait before killing (10)',
      },
      {
        name: 'inspect',
        value: 'PORT',
        mayBeBare: true,
        help: 'serve a page to look at it (port 4600)',
      },
      { name: 'inspect-token', value: 'TOKEN', help: 'its token (or INSIDECAR_INSPECT_TOKEN)' },
      { name: 'isolated', help: 'share nothing with other commands (off)' },
      { name: 'log-level', value: 'LEVEL', help: 'debug, info (default), warn or error' },
      { name: 'log-json', aliases: ['log-as-json'], help: 'log in JSON (default if no terminal)' },
      HELP,
    ],
  },
];

const NO_GRPC = 'there is no gRPC API';
const ONE_PROCESS = 'everything runs in this process';
const NO_PROFILING = 'there is no profiling server';

function ignored(names: readonly string[], why: string, value?: string): readonly Flag[] {
  return names.map((name) => ({ name, ignored: why, ...(value === undefined ? {} : { value }) }));
}

/** Flags of daprd and `dapr run` that have no effect here or are not supported. */
const FOREIGN: readonly Flag[] = [
  { name: 'dapr-grpc-port', short: 'G', value: 'PORT', ignored: NO_GRPC },
  { name: 'dapr-internal-grpc-port', short: 'I', value: 'PORT', ignored: NO_GRPC },
  ...ignored(['internal-grpc-port', 'dapr-internal-grpc-listen-address'], NO_GRPC, 'VALUE'),
  ...ignored(['placement-host-address', 'scheduler-host-address'], ONE_PROCESS, 'HOST'),
  ...ignored(['control-plane-address', 'sentry-address', 'runtime-path', 'mode'], ONE_PROCESS, 'VALUE'),
  ...ignored(['control-plane-trust-domain', 'control-plane-namespace'], ONE_PROCESS, 'VALUE'),
  ...ignored(['sentry-request-jwt-audiences', 'scheduler-job-streams'], ONE_PROCESS, 'VALUE'),
  ...ignored(['actors-service', 'reminders-service', 'actors-disseminate-timeout'], 'actors need no service', 'VALUE'),
  ...ignored(['app-binding-options-timeout'], 'the application is asked until it answers', 'DURATION'),
  ...ignored(['log-file'], 'the log goes to standard error', 'FILE'),
  ...ignored(['version', 'build-info'], 'insidecar --version tells the version'),
  ...ignored(['profile-port', 'profile-listen-address'], NO_PROFILING, 'VALUE'),
  ...ignored(['enable-profiling'], NO_PROFILING),
  { name: 'enable-metrics' },
  ...ignored(['enable-mtls', 'disable-builtin-k8s-secret-store'], ONE_PROCESS),
  ...ignored(['enable-api-logging'], '--log-level debug tells every message, job and call'),
  ...ignored(['dapr-block-shutdown-duration'], 'the application is stopped first, then the sidecar', 'DURATION'),
  { name: 'disable-init-endpoints', option: 'app.discovery', value: 'NAMES' },
  ...ignored(['dapr-public-port', 'dapr-public-listen-address'], 'health is at the HTTP API', 'VALUE'),
  ...ignored(['hot-reload-reconcile-interval'], 'resource files are read at the start', 'VALUE'),
  { name: 'dapr-http-max-request-size', value: 'MB' },
  { name: 'dapr-http-read-buffer-size', value: 'KB' },
  { name: 'allowed-origins', option: 'cors.origins', value: 'ORIGINS' },
  { name: 'unix-domain-socket', short: 'u', value: 'DIR', refused: 'the HTTP API listens on a port' },
  { name: 'app-ssl', refused: 'the application is called over plain HTTP on this machine' },
  { name: 'kubernetes', short: 'k', refused: 'it runs on this machine only' },
  { name: 'wait', refused: 'ask /v1.0/healthz/outbound until it answers 204' },
];

export const RUN_FLAGS: readonly Flag[] = [...RUN_GROUPS.flatMap(({ flags }) => flags), ...FOREIGN];

export const MIGRATE_STATE_FLAGS: readonly Flag[] = [
  { name: 'from', value: 'PLACE' },
  { name: 'to', value: 'PLACE' },
  APP_ID,
  HELP,
];

export const POSTGRESQL_DDL_FLAGS: readonly Flag[] = [{ name: 'schema', value: 'NAME' }, HELP];

export const VALIDATE_FLAGS: readonly Flag[] = [APP_ID, CONFIG, MAP, WIRE, HELP];
