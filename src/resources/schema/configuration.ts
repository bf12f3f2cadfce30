import { SECRETS_OPTIONS_SCHEMA, type SecretsOptions } from '../../blocks/secrets/options.ts';
import { ACCESS_CONTROL_SCHEMA, type AccessControlOptions } from '../../security/access-options.ts';
import { API_SPEC_SCHEMA, type ApiOptions } from '../../security/api-list.ts';
import { auth, flag, kindSchema, text } from './envelope.ts';
import { IDENTITY_SCHEMA, type IdentitySpec } from './identity.ts';
import { METRICS_SCHEMA, type MetricsSpec, TRACING_SCHEMA, type TracingSpec } from './telemetry.ts';

/** Sections of Dapr's that have no effect here: each is noted once. */
export const UNUSED_SECTIONS: readonly string[] = [
  'mtls',
  'httpPipeline',
  'appHttpPipeline',
  'components',
  'logging',
  'wasm',
  'workflow',
];

/** Name resolution components of Dapr's that are not needed here: sidecars that share their state find each other. */
export const UNNEEDED_RESOLVERS: readonly string[] = [
  'mdns',
  'sqlite',
  'kubernetes',
  'consul',
  'hashicorp.consul',
  'aws.cloudmap',
];

/** `kind: Configuration`. */
export const CONFIGURATION_SCHEMA: object = kindSchema({
  kind: 'Configuration',
  versions: ['v1alpha1'],
  description: 'Settings of the sidecar: access control, identity, HTTP API and name resolution.',
  spec: {
    type: 'object',
    additionalProperties: false,
    properties: {
      accessControl: {
        ...ACCESS_CONTROL_SCHEMA,
        description: 'Which applications may invoke which operations of this one.',
      },
      identity: { ...IDENTITY_SCHEMA, description: 'How the sidecar proves its app ID to other sidecars.' },
      api: { ...API_SPEC_SCHEMA, description: 'The enabled parts of the HTTP API.' },
      secrets: { ...SECRETS_OPTIONS_SCHEMA, description: 'Which secrets the application may read.' },
      nameResolution: {
        type: 'object',
        additionalProperties: false,
        properties: {
          component: {
            enum: ['static', 'dns', 'nameformat', ...UNNEEDED_RESOLVERS],
            description: 'How other applications are found.',
          },
          version: text,
          configuration: { type: 'object', description: 'Its settings.' },
        },
      },
      features: {
        type: 'array',
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['name'],
          properties: { name: text, enabled: flag },
        },
      },
      tracing: TRACING_SCHEMA,
      metrics: METRICS_SCHEMA,
      // The name that early versions of Dapr had.
      metric: METRICS_SCHEMA,
      ...Object.fromEntries(UNUSED_SECTIONS.map((name) => [name, { description: 'Accepted, but has no effect.' }])),
    },
  },
  isSpecOptional: true,
  beside: { auth },
});

/** `spec` of a Configuration in a file. */
export interface ConfigurationSpec {
  readonly accessControl?: AccessControlOptions;
  readonly identity?: IdentitySpec;
  readonly api?: ApiOptions;
  readonly secrets?: SecretsOptions;
  readonly nameResolution?: NameResolutionSpec;
  readonly tracing?: TracingSpec;
  readonly metrics?: MetricsSpec;
  readonly metric?: MetricsSpec;
  readonly features?: readonly { readonly name: string; readonly enabled?: boolean }[];
}

/** Name resolution in a file. */
export interface NameResolutionSpec {
  readonly component?: string;
  readonly version?: string;
  readonly configuration?: Readonly<Record<string, unknown>>;
}
