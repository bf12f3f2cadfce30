import { didYouMean, suggest } from '../util/suggest.ts';
import {
  cronMetadata,
  httpMetadata,
  localStorageMetadata,
  makeCronBinding,
  makeHttpBinding,
  makeLocalStorageBinding,
} from './bindings.ts';
import type { MakeBrokerPubSub } from './broker-pubsub.ts';
import {
  makeMemoryConfiguration,
  makePostgresqlConfiguration,
  makeRedisConfiguration,
  postgresqlConfigurationMetadata,
  redisConfigurationMetadata,
} from './configuration-stores.ts';
import { jetstreamMetadata, makeJetStreamPubSub } from './jetstream-pubsub.ts';
import { kafkaBindingMetadata, makeKafkaBinding } from './kafka-binding.ts';
import { kafkaMetadata, makeKafkaPubSub } from './kafka-pubsub.ts';
import {
  LOCK_NAMES,
  makeDurableLocks,
  makeMemoryLocks,
  makePostgresqlLocks,
  makeRedisLocks,
  postgresqlLockMetadata,
  redisLockMetadata,
} from './lock-stores.ts';
import { makeMqttBinding, mqttBindingMetadata } from './mqtt-binding.ts';
import { makeMqtt3PubSub, makeMqtt5PubSub, mqttMetadata } from './mqtt-pubsub.ts';
import { makePostgresqlBinding, postgresqlBindingMetadata } from './postgresql-binding.ts';
import { POSTGRESQL_CONNECTION_NAMES } from './postgresql-connection.ts';
import { makeRabbitmqBinding, rabbitmqBindingMetadata } from './rabbitmq-binding.ts';
import { makeRabbitmqPubSub, rabbitmqMetadata } from './rabbitmq-pubsub.ts';
import { makeRedisBinding, redisBindingMetadata } from './redis-binding.ts';
import { REDIS_CONNECTION_IGNORES, REDIS_CONNECTION_NAMES } from './redis-connection.ts';
import { makeRedisPubSub, redisPubSubMetadata } from './redis-pubsub.ts';
import { makeSmtpBinding, smtpMetadata } from './smtp-binding.ts';
import { makePostgresqlState, makeRedisState, makeSqliteState, TABLE_NAMES } from './state-formats.ts';
import { STATE_STORE_NAMES } from './state-stores.ts';
import type { MakeStore } from './store-source.ts';
import { TOPIC_SCOPE_NAMES } from './topic-scopes.ts';

/** The kind of object that a component becomes. */
export type ComponentRole =
  | 'memory-pubsub'
  | 'durable-pubsub'
  | 'broker-pubsub'
  | 'memory-state'
  | 'embedded-state'
  | 'postgresql-state'
  | 'redis-state'
  | 'store'
  | 'durable-store'
  | 'file-configuration'
  | 'environment-secrets'
  | 'file-secrets';

export interface ComponentType {
  readonly role: ComponentRole;
  /** Makes the component of a broker. */
  readonly makePubSub?: MakeBrokerPubSub;
  /**
   * Makes the store of the role `store`, and that of a `state.*` in a form that other programs know. A `state.*` without
   * it, or for which it returns nothing, is kept on a store of the sidecar's own kind.
   */
  readonly makeStore?: MakeStore;
  /** The metadata names that it uses. */
  readonly uses: readonly string[];
  /** Metadata names of Dapr's that are noted, even if they resemble a used name. */
  readonly ignores?: readonly string[];
  /** The versions of the type. Default: `v1`. */
  readonly versions?: readonly string[];
}

const pubsub = TOPIC_SCOPE_NAMES;
const state = STATE_STORE_NAMES;

const postgresql: ComponentType = {
  role: 'postgresql-state',
  versions: ['v1', 'v2'],
  uses: [
    ...state,
    ...POSTGRESQL_CONNECTION_NAMES,
    'timeout',
    'timeoutInSeconds',
    'queryExecMode',
    'schema',
    'durability',
    ...TABLE_NAMES,
    'tablePrefix',
    'maxConns',
  ],
  ignores: ['connectionMaxIdleTime'],
  makeStore: makePostgresqlState,
};

const postgresqlConfiguration: ComponentType = {
  role: 'store',
  ...postgresqlConfigurationMetadata,
  makeStore: makePostgresqlConfiguration,
};

const postgresqlBinding: ComponentType = {
  role: 'store',
  ...postgresqlBindingMetadata,
  makeStore: makePostgresqlBinding,
};

const mqttBinding: ComponentType = { role: 'store', ...mqttBindingMetadata, makeStore: makeMqttBinding };

const redis: ComponentType = {
  role: 'redis-state',
  uses: [...state, ...REDIS_CONNECTION_NAMES, 'prefix', 'durability', 'ttlInSeconds'],
  ignores: [...REDIS_CONNECTION_IGNORES, 'processingTimeout', 'queryIndexes', 'redeliverInterval'],
  makeStore: makeRedisState,
};

const sqlite: ComponentType = {
  role: 'embedded-state',
  uses: [...state, 'path', 'exclusive', 'connectionString', 'busyTimeout', ...TABLE_NAMES],
  ignores: ['disableWAL', 'timeout', 'timeoutInSeconds'],
  makeStore: makeSqliteState,
};

/** Every supported component type. */
export const COMPONENT_TYPES: ReadonlyMap<string, ComponentType> = new Map<string, ComponentType>([
  ['pubsub.in-memory', { role: 'memory-pubsub', uses: [...pubsub, 'maxMessages', 'maxBytes'] }],
  ['pubsub.sqlite', { role: 'durable-pubsub', uses: pubsub }],
  ['pubsub.durable', { role: 'durable-pubsub', uses: pubsub }],
  ['pubsub.jetstream', { role: 'broker-pubsub', ...jetstreamMetadata, makePubSub: makeJetStreamPubSub }],
  ['pubsub.kafka', { role: 'broker-pubsub', ...kafkaMetadata, makePubSub: makeKafkaPubSub }],
  ['pubsub.mqtt3', { role: 'broker-pubsub', ...mqttMetadata, makePubSub: makeMqtt3PubSub }],
  // Dapr has both names for one component.
  ['pubsub.mqtt', { role: 'broker-pubsub', ...mqttMetadata, makePubSub: makeMqtt3PubSub }],
  ['pubsub.mqtt5', { role: 'broker-pubsub', ...mqttMetadata, makePubSub: makeMqtt5PubSub }],
  ['pubsub.redis', { role: 'broker-pubsub', ...redisPubSubMetadata, makePubSub: makeRedisPubSub }],
  ['pubsub.rabbitmq', { role: 'broker-pubsub', ...rabbitmqMetadata, makePubSub: makeRabbitmqPubSub }],
  ['state.in-memory', { role: 'memory-state', uses: state }],
  ['state.sqlite', sqlite],
  ['state.postgresql', postgresql],
  ['state.postgres', postgresql],
  ['state.redis', redis],
  ['lock.in-memory', { role: 'store', uses: LOCK_NAMES, makeStore: makeMemoryLocks }],
  ['lock.sqlite', { role: 'durable-store', uses: LOCK_NAMES, makeStore: makeDurableLocks }],
  ['lock.redis', { role: 'store', ...redisLockMetadata, makeStore: makeRedisLocks }],
  ['lock.postgresql', { role: 'store', ...postgresqlLockMetadata, makeStore: makePostgresqlLocks }],
  ['configuration.local.file', { role: 'file-configuration', uses: ['configurationFile'] }],
  ['configuration.in-memory', { role: 'store', uses: [], makeStore: makeMemoryConfiguration }],
  ['configuration.redis', { role: 'store', ...redisConfigurationMetadata, makeStore: makeRedisConfiguration }],
  ['configuration.postgresql', postgresqlConfiguration],
  ['configuration.postgres', postgresqlConfiguration],
  ['bindings.cron', { role: 'store', ...cronMetadata, makeStore: makeCronBinding }],
  ['bindings.http', { role: 'store', ...httpMetadata, makeStore: makeHttpBinding }],
  ['bindings.postgresql', postgresqlBinding],
  ['bindings.postgres', postgresqlBinding],
  ['bindings.localstorage', { role: 'store', ...localStorageMetadata, makeStore: makeLocalStorageBinding }],
  ['bindings.redis', { role: 'store', ...redisBindingMetadata, makeStore: makeRedisBinding }],
  ['bindings.smtp', { role: 'store', ...smtpMetadata, makeStore: makeSmtpBinding }],
  ['bindings.kafka', { role: 'store', ...kafkaBindingMetadata, makeStore: makeKafkaBinding }],
  ['bindings.mqtt3', mqttBinding],
  // Dapr has both names for one component.
  ['bindings.mqtt', mqttBinding],
  ['bindings.rabbitmq', { role: 'store', ...rabbitmqBindingMetadata, makeStore: makeRabbitmqBinding }],
  ['secretstores.local.env', { role: 'environment-secrets', uses: ['prefix'] }],
  ['secretstores.local.file', { role: 'file-secrets', uses: ['secretsFile', 'nestedSeparator', 'multiValued'] }],
]);

/** Types of Dapr's that are not supported here, for a better error message than "unknown". */
const DAPR_ONLY: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'pubsub',
    [
      'aws.snssqs',
      'azure.eventhubs',
      'azure.servicebus.queues',
      'azure.servicebus.topics',
      'gcp.pubsub',
      'kubemq',
      'pulsar',
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
      'rethinkdb',
      'sqlserver',
      'zookeeper',
    ],
  ],
  [
    'bindings',
    [
      'alicloud.dingtalk.webhook',
      'alicloud.oss',
      'alicloud.sls',
      'alicloud.tablestore',
      'apns',
      'aws.dynamodb',
      'aws.kinesis',
      'aws.s3',
      'aws.ses',
      'aws.sns',
      'aws.sqs',
      'azure.blobstorage',
      'azure.cosmosdb',
      'azure.cosmosdb.gremlinapi',
      'azure.eventgrid',
      'azure.eventhubs',
      'azure.openai',
      'azure.servicebusqueues',
      'azure.signalr',
      'azure.storagequeues',
      'cloudflare.queues',
      'commercetools',
      'gcp.bucket',
      'gcp.pubsub',
      'graphql',
      'huawei.obs',
      'influx',
      'kitex',
      'kubemq',
      'kubernetes',
      'mysql',
      'postmark',
      'rethinkdb.statechange',
      'rocketmq',
      'sftp',
      'twilio.sendgrid',
      'twilio.sms',
      'wasm',
      'zeebe.command',
      'zeebe.jobworker',
    ],
  ],
  ['configuration', ['azure.appconfig', 'kubernetes']],
  [
    'secretstores',
    ['aws.parameterstore', 'aws.secretmanager', 'azure.keyvault', 'gcp.secretmanager', 'hashicorp.vault', 'kubernetes'],
  ],
]);

/** Kinds of components of Dapr's without a building block here. */
const DAPR_CATEGORIES: readonly string[] = [
  'conversation',
  'crypto',
  'middleware',
  'nameresolution',
  'workflowbackend',
];

/** The substitute that leaves a component out. */
export const NO_COMPONENT = 'none';

/** Every unsupported type of every kind. */
const ALL = '*';

/** Replacements by type: for one type, with `pubsub.*` for every unsupported type of a kind, with `*` for all of them. */
export type Substitutes = Readonly<Record<string, string>>;

/** The type that replaces a component's type, or the type itself. */
export function substituted(type: string, substitute: Substitutes): string {
  if (Object.hasOwn(substitute, type)) return substitute[type] ?? type;
  if (COMPONENT_TYPES.has(type)) return type;
  const category = `${type.slice(0, type.indexOf('.'))}.*`;
  if (Object.hasOwn(substitute, category)) return substitute[category] ?? type;
  return Object.hasOwn(substitute, ALL) && !isMisspelt(type) ? NO_COMPONENT : type;
}

/** A slip of the pen in a type that there is must not leave the component out. */
function isMisspelt(type: string): boolean {
  return !isDaprs(type) && suggest(type, COMPONENT_TYPES.keys()) !== undefined;
}

function isDaprs(type: string): boolean {
  const [category = ''] = type.split('.', 1);
  const isListed = DAPR_ONLY.get(category)?.includes(type.slice(category.length + 1));
  return isListed === true || DAPR_CATEGORIES.includes(category);
}

/** The first problem in a table of substitutes, if any. */
export function substituteProblem(substitute: Substitutes): string | undefined {
  for (const [type, replacement] of Object.entries(substitute)) {
    if (type === ALL && replacement !== NO_COMPONENT)
      return `${ALL} cannot be replaced by ${JSON.stringify(replacement)}: expected ${NO_COMPONENT}, which leaves out all types that there are not`;
    if (replacement === NO_COMPONENT || COMPONENT_TYPES.has(replacement)) continue;
    const known = [...COMPONENT_TYPES.keys(), NO_COMPONENT];
    const hint = didYouMean(replacement, known);
    return `${type} cannot be replaced by ${JSON.stringify(replacement)}: expected ${known.join(', ')}${hint}`;
  }
  return undefined;
}

/** Explains why a type cannot be used, and what to do. */
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
