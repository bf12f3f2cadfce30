import { isApiError, SidecarError } from '../errors.ts';

/** The flags and multi-app fields that set options of a sidecar. */
const NAMES: Readonly<Record<string, readonly [flag: string, field: string]>> = {
  appId: ['--app-id', 'appID'],
  app: ['--app-port', 'appPort'],
  'app.port': ['--app-port', 'appPort'],
  'app.host': ['--app-channel-address', 'appChannelAddress'],
  'app.protocol': ['--app-protocol', 'appProtocol'],
  'app.maxConcurrency': ['--app-max-concurrency', 'appMaxConcurrency'],
  'app.startTimeout': ['--app-start-timeout', '--app-start-timeout'],
  'app.health': ['--enable-app-health-check', 'enableAppHealthCheck'],
  'app.health.path': ['--app-health-check-path', 'appHealthCheckPath'],
  'app.health.interval': ['--app-health-probe-interval', 'appHealthProbeInterval'],
  'app.health.timeout': ['--app-health-probe-timeout', 'appHealthProbeTimeout'],
  'app.health.threshold': ['--app-health-threshold', 'appHealthThreshold'],
  deliveryTimeout: ['--delivery-timeout', '--delivery-timeout'],
  'jobs.timeout': ['--job-timeout', '--job-timeout'],
  bodyLimitBytes: ['--max-body-size', 'maxBodySize'],
  headLimitBytes: ['--read-buffer-size', 'readBufferSize'],
  'cors.origins': ['--allowed-origins', '--allowed-origins'],
  allowedHosts: ['--allowed-hosts', '--allowed-hosts'],
  stopTimeout: ['--graceful-shutdown-seconds', '--graceful-shutdown-seconds'],
  token: ['--inspect-token (or INSIDECAR_INSPECT_TOKEN)', '--inspect-token (or INSIDECAR_INSPECT_TOKEN)'],
  substitute: ['--map', '--map'],
  namespace: ['the environment variable NAMESPACE', 'the environment variable NAMESPACE'],
};

/** The application of the options, and whether they come from a multi-app file. */
export interface NamedApp {
  readonly appId: string;
  readonly isOfFile: boolean;
}

/** An option of a sidecar or of its inspector, as errors name them. */
const OPTION = /\boptions\.(?<ofSidecar>\w+(?:\.\w+)*)|\b(?<ofInspector>\w+) in options of inspect\b/g;

/** Rewrites an error about options of a sidecar or its inspector in terms of the command line or file that they come from. */
export function inWordsOfCommand(error: unknown, app?: NamedApp): unknown {
  if (!isApiError(error)) return error;
  const message = error.message.replaceAll(OPTION, (option, ofSidecar?: string, ofInspector?: string) =>
    nameOf(ofSidecar ?? ofInspector ?? '', app, option),
  );
  return message === error.message ? error : new SidecarError(error.code, message, { cause: error });
}

/** The name of the option or of its nearest known parent: `options.cors.origins.0` becomes its flag. */
function nameOf(path: string, app: NamedApp | undefined, otherwise: string): string {
  for (let known = path; known !== ''; known = known.slice(0, Math.max(0, known.lastIndexOf('.')))) {
    const names = Object.hasOwn(NAMES, known) ? NAMES[known] : undefined;
    if (names === undefined) continue;
    const [flag, field] = names;
    return app?.isOfFile && field !== flag ? `${field} of ${app.appId}` : flag;
  }
  return otherwise;
}
