import type { JsonSchema } from '../util/options-schema.ts';

/** A text in a multi-app file that need not be quoted. */
export type RunFileScalar = string | number | boolean | null;

/** The settings that applications of a multi-app file can share. */
export interface RunFileShared {
  readonly resourcesPath?: string;
  readonly resourcesPaths?: string | readonly string[];
  readonly configFilePath?: string;
  readonly env?: Readonly<Record<string, RunFileScalar>>;
  readonly appProtocol?: string;
  readonly appSSL?: boolean;
  readonly appMaxConcurrency?: number;
  readonly enableAppHealthCheck?: boolean;
  readonly appHealthCheckPath?: string;
  /** In seconds. */
  readonly appHealthProbeInterval?: number;
  /** In milliseconds. */
  readonly appHealthProbeTimeout?: number;
  readonly appHealthThreshold?: number;
  readonly appLogDestination?: 'console' | 'file' | 'fileAndConsole';
  readonly daprdLogDestination?: 'console' | 'file' | 'fileAndConsole';
  readonly logLevel?: string;
  readonly maxBodySize?: string | number;
  /** In megabytes. */
  readonly daprHTTPMaxRequestSize?: number;
  readonly readBufferSize?: string | number;
  /** In kilobytes. */
  readonly daprHTTPReadBufferSize?: number;
}

/** The further settings of one application. */
export interface RunFileOwn {
  readonly appID?: string;
  readonly appDirPath?: string;
  readonly appPort?: number;
  readonly appChannelAddress?: string;
  readonly daprHTTPPort?: number;
  readonly command?: readonly RunFileScalar[];
}

/** One application in a file. */
export type RunFileApp = RunFileShared & RunFileOwn;

/** A multi-app file. */
export interface RunFile {
  readonly version: number;
  readonly name?: string;
  readonly common?: RunFileShared;
  readonly apps: readonly (RunFileApp & { readonly appDirPath: string })[];
}

/** The description of an app ID in messages. */
export const APP_ID = 'up to 256 characters without dots, slashes and white space';

const text = { type: 'string' };
const flag = { type: 'boolean' };
const scalar = { type: ['string', 'number', 'boolean', 'null'] };
const count = { type: 'integer' };
const port = { type: 'integer', minimum: -1, maximum: 65_535 };
const destination = { enum: ['console', 'file', 'fileAndConsole'] };

const size = {
  type: ['string', 'integer'],
  pattern: '^-?[0-9.]+(k|K|M|G|Ki|Mi|Gi)?$',
  expects: 'a number of bytes, such as 4Mi',
};

const shared = {
  resourcesPath: { ...text, description: 'A directory with resource files. Old name of resourcesPaths.' },
  resourcesPaths: { type: ['string', 'array'], items: text, description: 'Directories with resource files.' },
  configFilePath: { ...text, description: 'A file with a Configuration.' },
  env: {
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean'], isSecret: true },
    description: 'Environment variables.',
  },
  appProtocol: { enum: ['http', 'https', 'h2c', 'grpc', 'grpcs'], description: 'Default http.' },
  appSSL: { ...flag, description: 'Old form of appProtocol https or grpcs.' },
  appMaxConcurrency: { ...count, description: 'Max concurrent requests to the application. Default: no limit.' },
  enableAppHealthCheck: { ...flag, description: 'Probe the application. Default false.' },
  appHealthCheckPath: { ...text, description: 'Default /healthz.' },
  appHealthProbeInterval: { ...count, description: 'Seconds between probes. Default 5.' },
  appHealthProbeTimeout: { ...count, description: 'Milliseconds that a probe may take. Default 500.' },
  appHealthThreshold: { ...count, description: 'Failures after which it is unhealthy. Default 3.' },
  appLogDestination: { ...destination, description: 'Where its output goes. Default fileAndConsole.' },
  daprdLogDestination: { ...destination, description: "Where its sidecar's output goes. Default file." },
  logLevel: { ...text, description: "The sidecar's log level." },
  maxBodySize: { ...size, description: 'The largest request body, such as 4Mi.' },
  daprHTTPMaxRequestSize: { ...count, description: 'Old form of maxBodySize: in megabytes.' },
  readBufferSize: { ...size, description: 'The largest head of a request and of a response, such as 64Ki.' },
  daprHTTPReadBufferSize: { ...count, description: 'Old form of readBufferSize: in kilobytes.' },
};

const app = {
  ...shared,
  appID: {
    type: 'string',
    pattern: '^[^./\\s]{1,256}$',
    expects: APP_ID,
    description: 'Default: the name of its directory.',
  },
  appDirPath: { type: 'string', minLength: 1, description: 'Its directory, relative to this file.' },
  appPort: { ...port, description: 'The port on which it listens.' },
  appChannelAddress: { ...text, description: 'The host on which it listens. Default 127.0.0.1.' },
  daprHTTPPort: { ...port, description: "The port of its sidecar's HTTP API." },
  command: { type: 'array', items: scalar, description: 'The command that runs it, with arguments.' },
};

/** Fields of Dapr's that have no effect here. */
export const UNUSED_FIELDS: ReadonlySet<string> = new Set([
  'apiListenAddresses',
  'containerImage',
  'containerImagePullPolicy',
  'createService',
  'daprGRPCPort',
  'daprInternalGRPCPort',
  'enableApiLogging',
  'enableProfiling',
  'metricsPort',
  'placementHostAddress',
  'profilePort',
  'runtimePath',
  'schedulerHostAddress',
  'unixDomainSocket',
]);

/** Dapr's multi-app run template, version 1. */
export const MULTI_APP_SCHEMA: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['version', 'apps'],
  properties: {
    version: { enum: [1] },
    name: text,
    common: { type: 'object', additionalProperties: false, properties: shared },
    apps: {
      type: 'array',
      minItems: 1,
      items: { type: 'object', additionalProperties: false, required: ['appDirPath'], properties: app },
    },
  },
};
