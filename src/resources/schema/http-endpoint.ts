import type { NamedValue, ValueSource } from './component.ts';
import { auth, kindSchema, namedValues, scopes, text, valueFields } from './envelope.ts';

const pem = {
  type: 'object',
  isSecret: true,
  additionalProperties: false,
  properties: valueFields,
  description: 'In PEM.',
};

/** `kind: HTTPEndpoint`. */
export const HTTP_ENDPOINT_SCHEMA: object = kindSchema({
  kind: 'HTTPEndpoint',
  versions: ['v1alpha1'],
  description: 'An external HTTP service, invoked by name.',
  spec: {
    type: 'object',
    additionalProperties: false,
    required: ['baseUrl'],
    properties: {
      baseUrl: {
        type: 'string',
        pattern: '^https?://[^/\\s]',
        expects: 'an http or https URL',
        description: 'The URL to which paths are appended.',
      },
      version: { ...text, description: 'Accepted, but has no effect.' },
      headers: { ...namedValues, description: 'Headers added to every request.' },
      clientTLS: {
        type: 'object',
        additionalProperties: false,
        properties: {
          rootCA: pem,
          certificate: pem,
          privateKey: pem,
          renegotiation: { enum: ['RenegotiateNever', 'RenegotiateOnceAsClient', 'RenegotiateFreelyAsClient'] },
        },
      },
    },
  },
  beside: { auth, scopes },
});

/** `spec` of an HTTPEndpoint in a file. */
export interface HttpEndpointSpec {
  readonly baseUrl: string;
  readonly headers?: readonly NamedValue[];
  readonly clientTLS?: {
    readonly rootCA?: ValueSource;
    readonly certificate?: ValueSource;
    readonly privateKey?: ValueSource;
    readonly renegotiation?: string;
  };
}
