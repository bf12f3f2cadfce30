import { didYouMean } from '../util/suggest.ts';
import { TOPIC_SCOPE_NAMES } from './topic-scopes.ts';

/** What a component becomes. */
export type ComponentRole =
  | 'memory-pubsub'
  | 'durable-pubsub'
  | 'memory-state'
  | 'embedded-state'
  | 'environment-secrets'
  | 'file-secrets';

/** A component type that there is. */
export interface ComponentType {
  readonly role: ComponentRole;
  /** The names of metadata that it uses. */
  readonly uses: readonly string[];
}

const pubsub = TOPIC_SCOPE_NAMES;
const state = ['actorStateStore'];

/** Every component type that there is. */
export const COMPONENT_TYPES: ReadonlyMap<string, ComponentType> = new Map<string, ComponentType>([
  ['pubsub.in-memory', { role: 'memory-pubsub', uses: [...pubsub, 'maxMessages', 'maxBytes'] }],
  ['pubsub.sqlite', { role: 'durable-pubsub', uses: pubsub }],
  ['pubsub.durable', { role: 'durable-pubsub', uses: pubsub }],
  ['state.in-memory', { role: 'memory-state', uses: state }],
  ['state.sqlite', { role: 'embedded-state', uses: [...state, 'path'] }],
  ['secretstores.local.env', { role: 'environment-secrets', uses: ['prefix'] }],
  ['secretstores.local.file', { role: 'file-secrets', uses: ['secretsFile', 'nestedSeparator', 'multiValued'] }],
]);

/** What Dapr has and this package has not; only to say so rather than call them unknown. */
const DAPR_ONLY: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'pubsub',
    [
      'aws.snssqs',
      'azure.eventhubs',
      'azure.servicebus.queues',
      'azure.servicebus.topics',
      'gcp.pubsub',
      'jetstream',
      'kafka',
      'kubemq',
      'mqtt',
      'mqtt3',
      'pulsar',
      'rabbitmq',
      'redis',
      'rocketmq',
      'solace.amqp',
    ],
  ],
  [
    'state',
    [
      'aerospike',
      'aws.dynamodb',
      'azure.blobstorage',
      'azure.cosmosdb',
      'azure.tablestorage',
      'cassandra',
      'cockroachdb',
      'coherence',
      'couchbase',
      'etcd',
      'gcp.firestore',
      'hashicorp.consul',
      'hazelcast',
      'jetstream',
      'memcached',
      'mongodb',
      'mysql',
      'oci.objectstorage',
      'oracledatabase',
      'postgresql',
      'redis',
      'rethinkdb',
      'sqlserver',
      'zookeeper',
    ],
  ],
  [
    'secretstores',
    ['aws.parameterstore', 'aws.secretmanager', 'azure.keyvault', 'gcp.secretmanager', 'hashicorp.vault', 'kubernetes'],
  ],
]);

/** Whole kinds of Dapr's components that have no building block here. */
const DAPR_CATEGORIES: readonly string[] = [
  'bindings',
  'configuration',
  'conversation',
  'crypto',
  'lock',
  'middleware',
  'nameresolution',
  'workflowbackend',
];

/** What leaves a component out. */
export const NO_COMPONENT = 'none';

/** Which type stands in for which: a whole type, or `pubsub.*` for every type of a kind that there is not. */
export type Substitutes = Readonly<Record<string, string>>;

/** The type that a component is taken for. */
export function substituted(type: string, substitute: Substitutes): string {
  if (Object.hasOwn(substitute, type)) return substitute[type] ?? type;
  const category = `${type.slice(0, type.indexOf('.'))}.*`;
  return !COMPONENT_TYPES.has(type) && Object.hasOwn(substitute, category) ? (substitute[category] ?? type) : type;
}

/** What is wrong with a table of substitutes, if anything. */
export function substituteProblem(substitute: Substitutes): string | undefined {
  for (const [type, replacement] of Object.entries(substitute)) {
    if (replacement === NO_COMPONENT || COMPONENT_TYPES.has(replacement)) continue;
    const known = [...COMPONENT_TYPES.keys(), NO_COMPONENT];
    const hint = didYouMean(replacement, known);
    return `${type} cannot be replaced by ${JSON.stringify(replacement)}: expected ${known.join(', ')}${hint}`;
  }
  return undefined;
}

/** Why a type cannot be used, and what can be done. */
export function unknownTypeProblem(type: string): string {
  const category = type.slice(0, type.indexOf('.'));
  const name = type.slice(category.length + 1);
  const own = [...COMPONENT_TYPES.keys()].filter((known) => known.startsWith(`${category}.`));
  if (DAPR_ONLY.get(category)?.includes(name) === true) {
    const example = `${type}=${own[0] ?? NO_COMPONENT}`;
    return `component type ${type} is one of Dapr's that insidecar does not have: replace it, as in --map ${example} (option substitute)`;
  }
  if (DAPR_CATEGORIES.includes(category))
    return `component type ${type}: insidecar has no ${category} components; leave it out with --map ${type}=${NO_COMPONENT} (option substitute)`;
  const known = own.length > 0 ? own : [...COMPONENT_TYPES.keys()];
  return `unknown component type ${JSON.stringify(type)}: expected ${known.join(', ')}${didYouMean(type, known)}`;
}
