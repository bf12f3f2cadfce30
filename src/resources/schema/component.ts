import { auth, flag, kindSchema, namedValues, scopes, text } from './envelope.ts';

/** `kind: Component`. */
export const COMPONENT_SCHEMA: object = kindSchema({
  kind: 'Component',
  versions: ['v1alpha1'],
  description: 'A pub/sub component, a state store, the state of the sidecar, or a secret store.',
  spec: {
    type: 'object',
    additionalProperties: false,
    required: ['type'],
    properties: {
      type: {
        type: 'string',
        pattern: '^[^.\\s]+\\.\\S+$',
        expects: 'a kind and a technology, such as pubsub.in-memory',
        description: 'The kind and technology, such as pubsub.in-memory.',
      },
      version: { ...text, description: 'The version of the component type. Default v1.' },
      ignoreErrors: { ...flag, description: 'Start without the component if it cannot be used. Default false.' },
      initTimeout: { ...text, description: 'Accepted and not used: components open at once.' },
      metadata: { ...namedValues, description: 'The settings of the component.' },
    },
  },
  beside: { auth, scopes },
});

/** `spec` of a component in a file. */
export interface ComponentSpec {
  readonly type: string;
  readonly version?: string;
  readonly ignoreErrors?: boolean;
  readonly metadata?: readonly NamedValue[];
}

/** A literal value or its source. */
export interface ValueSource {
  readonly value?: string | number | boolean;
  readonly secretKeyRef?: { readonly name?: string; readonly key?: string };
  readonly envRef?: string;
}

export interface NamedValue extends ValueSource {
  readonly name: string;
}
