/** The accepted groups of `apiVersion`; they are equivalent. */
export const GROUPS = ['dapr.io', 'sidecar.io'] as const;

/** Our own schema keywords with their types; removed from the published schemas. */
export const OWN_WORDS = { isSecret: 'boolean', expects: 'string' } as const;

export const text = { type: 'string' };
export const flag = { type: 'boolean' };

/** The applications that a resource is for. */
export const scopes: object = {
  type: 'array',
  items: text,
  description: 'App IDs to which the resource applies. Default: all.',
};

/** `metadata`: a name that can be part of a path, and fields added by Kubernetes, which are ignored. */
const metadata = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: {
      type: 'string',
      // Not an expression of a template.
      pattern: '^(?!\\.{1,2}$)(?!.*\\{\\{)[^/\\u0000-\\u001f\\u007f]{1,253}$',
      expects: 'a name of 1 to 253 characters without slashes and control characters',
      description: 'The name of the resource.',
    },
    namespace: { ...text, description: 'The namespace to which it applies, where one is set.' },
    labels: { type: 'object' },
    annotations: { type: 'object' },
    creationTimestamp: {},
    deletionTimestamp: {},
    finalizers: {},
    generateName: {},
    generation: {},
    managedFields: {},
    ownerReferences: {},
    resourceVersion: {},
    selfLink: {},
    uid: {},
  },
};

/** The parts of a kind's schema. */
export interface KindSchema {
  readonly kind: string;
  readonly versions: readonly string[];
  readonly description: string;
  readonly spec: object;
  /** Whether `spec` may be left out. */
  readonly isSpecOptional?: true;
  /** Further fields beside `spec`. */
  readonly beside?: Readonly<Record<string, object>>;
}

/** The schema of a whole document. */
export function kindSchema(parts: KindSchema): object {
  const { kind, versions, description, spec, isSpecOptional = false, beside = {} } = parts;
  return {
    type: 'object',
    description,
    additionalProperties: false,
    required: ['apiVersion', 'kind', 'metadata', ...(isSpecOptional ? [] : ['spec'])],
    properties: {
      apiVersion: { enum: GROUPS.flatMap((group) => versions.map((version) => `${group}/${version}`)) },
      kind: { const: kind },
      metadata,
      spec,
      ...beside,
    },
  };
}

const secretKeyRef = {
  type: 'object',
  additionalProperties: false,
  properties: {
    name: { ...text, description: 'The secret.' },
    key: { ...text, description: 'The key in it. Default: its name.' },
  },
};

/** A value: literal, or from a secret store or the environment. */
export const valueFields: Readonly<Record<string, object>> = {
  value: { type: ['string', 'number', 'boolean'], isSecret: true, description: 'The value.' },
  secretKeyRef: { ...secretKeyRef, description: 'A secret of the store that auth.secretStore names.' },
  envRef: { ...text, description: 'An environment variable.' },
};

/** A list of named values. */
export const namedValues: object = {
  type: 'array',
  isSecret: true,
  items: {
    type: 'object',
    isSecret: true,
    additionalProperties: false,
    required: ['name'],
    properties: { name: { type: 'string', minLength: 1 }, ...valueFields },
  },
};

export const auth: object = {
  type: 'object',
  additionalProperties: false,
  properties: { secretStore: { ...text, description: 'The component in which secrets are looked up.' } },
};
