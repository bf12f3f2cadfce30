/** The groups of `apiVersion`; both mean the same. */
export const GROUPS = ['dapr.io', 'sidecar.io'] as const;

/** Words of our own in schemas, with their types; the published schemas are without them. */
export const OWN_WORDS = { isSecret: 'boolean', expects: 'string' } as const;

export const text = { type: 'string' };
export const flag = { type: 'boolean' };

/** Applications that a resource is for. */
export const scopes: object = {
  type: 'array',
  items: text,
  description: 'App IDs that the resource is for. Default: all.',
};

/** `metadata`: a name that can stand in a path, and what Kubernetes adds, which is not looked at. */
const metadata = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: {
      type: 'string',
      pattern: '^(?!\\.{1,2}$)[^/%\\s\\u0000-\\u001f\\u007f]{1,253}$',
      expects: 'a name of 1 to 253 characters without slashes, percent signs and white space',
      description: 'The name by which the resource is known.',
    },
    namespace: { ...text, description: 'The namespace that it is for, where one is set.' },
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

/** What a schema of a kind is made of. */
export interface KindParts {
  readonly kind: string;
  readonly versions: readonly string[];
  readonly description: string;
  readonly spec: object;
  /** Further fields beside `spec`. */
  readonly beside?: Readonly<Record<string, object>>;
}

/** The schema of a whole document. */
export function kindSchema({ kind, versions, description, spec, beside = {} }: KindParts): object {
  return {
    type: 'object',
    description,
    additionalProperties: false,
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
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
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1, description: 'The secret.' },
    key: { ...text, description: 'The key in it. Default: its name.' },
  },
};

/** A value that is written, or found in a secret store or the environment. */
export const valueFields: Readonly<Record<string, object>> = {
  value: { type: ['string', 'number', 'boolean', 'null'], isSecret: true, description: 'The value.' },
  secretKeyRef: { ...secretKeyRef, description: 'A secret of the store that auth.secretStore names.' },
  envRef: { ...text, description: 'An environment variable.' },
};

/** A list of named values. */
export const namedValues: object = {
  type: 'array',
  items: {
    type: 'object',
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
