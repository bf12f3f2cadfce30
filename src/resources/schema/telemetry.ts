import { flag, text } from './envelope.ts';

const unused = { description: 'Accepted, but has no effect.' };
const bucketsOf = (what: string): object => ({
  type: 'array',
  minItems: 1,
  maxItems: 100,
  items: { type: 'number', exclusiveMinimum: 0 },
  description: `Bounds of histograms of ${what}, in milliseconds, ascending.`,
});

/** `spec.tracing` of a Configuration. */
export const TRACING_SCHEMA: object = {
  type: 'object',
  additionalProperties: false,
  description: 'Where the command sends traces.',
  properties: {
    samplingRate: {
      type: ['string', 'number'],
      description: 'The part of new traces that is recorded, 0 to 1. 0 switches tracing off. Default: 0.0001.',
    },
    stdout: { ...flag, description: 'Whether spans are printed.' },
    otel: {
      type: 'object',
      additionalProperties: false,
      description: 'A collector that speaks OTLP.',
      properties: {
        endpointAddress: { ...text, description: 'Its host and port, such as localhost:4317.' },
        isSecure: { ...flag, description: 'Whether to use TLS. Default: true.' },
        protocol: { enum: ['grpc', 'http'], description: 'Default: grpc.' },
        headers: {
          type: ['string', 'array'],
          items: { ...text, isSecret: true },
          isSecret: true,
          description: 'Fields of each request: a list of name=value, or a text with commas between them.',
        },
        timeout: {
          type: ['string', 'number'],
          description: 'Time limit of a request: a duration such as 10s, or a number of milliseconds.',
        },
      },
    },
    zipkin: { type: 'object', ...unused },
  },
};

/** `spec.metrics` of a Configuration. */
export const METRICS_SCHEMA: object = {
  type: 'object',
  additionalProperties: false,
  description: 'What the command serves at its --metrics-port.',
  properties: {
    enabled: { ...flag, description: 'Default: true.' },
    latencyDistributionBuckets: bucketsOf('durations'),
    workflow: {
      type: 'object',
      additionalProperties: false,
      properties: { latencyDistributionBuckets: bucketsOf('durations of workflows and activities') },
    },
    recordErrorCodes: unused,
    rules: unused,
    http: unused,
  },
};

/** Parts of these sections that have no effect here, with the reason. */
export const UNUSED_TELEMETRY: Readonly<Record<string, string>> = {
  'tracing.zipkin': 'has no use here: send OTLP, which Zipkin and collectors take (spec.tracing.otel)',
  'metrics.recordErrorCodes': 'has no use here: error.type is always recorded',
  'metrics.rules': 'has no use here: change labels in Prometheus',
  'metrics.http': 'has no use here: the metrics have routes, not paths',
};

/** `spec.tracing` in a file. */
export interface TracingSpec {
  readonly samplingRate?: string | number;
  readonly stdout?: boolean;
  readonly otel?: {
    readonly endpointAddress?: string;
    readonly isSecure?: boolean;
    readonly protocol?: 'grpc' | 'http';
    readonly headers?: string | readonly string[];
    readonly timeout?: string | number;
  };
  readonly zipkin?: object;
}

/** `spec.metrics` in a file. */
export interface MetricsSpec {
  readonly enabled?: boolean;
  readonly latencyDistributionBuckets?: readonly number[];
  readonly workflow?: { readonly latencyDistributionBuckets?: readonly number[] };
  readonly recordErrorCodes?: unknown;
  readonly rules?: unknown;
  readonly http?: unknown;
}
