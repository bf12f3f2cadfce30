import { serverUrl } from '../components/broker/server-url.ts';
import { tokensOf } from '../components/kafka/client-credentials.ts';
import { type KafkaAccessOptions, type KafkaPubSubOptions, kafkaPubSub } from '../components/kafka/index.ts';
import type { PubSubDefinition } from '../components/pubsub.ts';
import { isApiError } from '../errors.ts';
import { definedOnly } from '../util/defined-only.ts';
import type { BrokerResource } from './broker-pubsub.ts';
import { DAY_MS, MetadataReader } from './metadata-reader.ts';
import { TOPIC_SCOPE_NAMES } from './topic-scopes.ts';

/** The metadata of Dapr's that say how to reach Kafka. */
export const KAFKA_NAMES: readonly string[] = [
  'brokers',
  'consumerGroup',
  'consumerID',
  'clientID',
  'authType',
  'authRequired',
  'saslUsername',
  'saslPassword',
  'saslMechanism',
  'oidcTokenEndpoint',
  'oidcClientID',
  'oidcClientSecret',
  'oidcScopes',
  'oidcExtensions',
  'caCert',
  'clientCert',
  'clientKey',
  'skipVerify',
  'disableTls',
  'initialOffset',
  'maxMessageBytes',
  'compression',
  'sessionTimeout',
  'heartbeatInterval',
  'escapeHeaders',
  'excludeHeaderMetaRegex',
  'schemaRegistryURL',
];

/** Those of Dapr's without a use here. */
export const KAFKA_IGNORES: readonly string[] = [
  'consumeRetryEnabled',
  'consumeRetryInterval',
  'channelBufferSize',
  'version',
  'consumerFetchMin',
  'consumerFetchDefault',
  'consumerGroupRebalanceStrategy',
  'clientConnectionTopicMetadataRefreshInterval',
  'clientConnectionKeepAliveInterval',
  'schemaRegistryAPIKey',
  'schemaRegistryAPISecret',
  'schemaCachingEnabled',
  'schemaLatestVersionCacheTTL',
];

/** The metadata of a `pubsub.kafka`. */
export const kafkaMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [...TOPIC_SCOPE_NAMES, ...KAFKA_NAMES],
  ignores: KAFKA_IGNORES,
};

/** Dapr's names of the mechanisms. */
const MECHANISMS: ReadonlyMap<string, string> = new Map([
  ['', 'plain'],
  ['plaintext', 'plain'],
  ['plain', 'plain'],
  ['sha-256', 'scram-sha-256'],
  ['sha-512', 'scram-sha-512'],
]);

/** Without values: they may come from a secret store. */
export const KAFKA_FORM =
  'metadata brokers must be addresses like "kafka.internal:9092" with commas between them, certificates and keys valid, maxMessageBytes 1024 or more, compression none, gzip, snappy, lz4 or zstd, sessionTimeout 1s to 1h, and heartbeatInterval at most a third of it';

const DURATION = { unitMs: 1_000, maxMs: DAY_MS } as const;

/** Makes a `pubsub.kafka`. */
export function makeKafkaPubSub(resource: BrokerResource): PubSubDefinition | undefined {
  const reader = new MetadataReader(resource);
  const options = optionsOf(reader, resource.topics);
  if (reader.hasProblem) return undefined;
  reader.note('pubsub.kafka is experimental: it has not been tested with a cluster of Kafka yet');
  try {
    return kafkaPubSub(resource.name, options);
  } catch (error) {
    if (!isApiError(error)) throw error;
    reader.problem(KAFKA_FORM);
    return undefined;
  }
}

function optionsOf(reader: MetadataReader, topics: BrokerResource['topics']): KafkaPubSubOptions {
  return { ...topics, ...kafkaAccess(reader, 'pubsub.kafka') };
}

/** Reads how to reach Kafka. */
export function kafkaAccess(reader: MetadataReader, type: string): KafkaAccessOptions {
  const brokers = reader.text('brokers')?.split(',');
  if (brokers === undefined) reader.problem(`${type} needs metadata brokers: "kafka.internal:9092"`);
  if (reader.text('schemaRegistryURL') !== undefined)
    reader.problem('metadata schemaRegistryURL: insidecar has no schema registry; leave it out if no message needs it');
  const initialOffset = reader.text('initialOffset')?.toLowerCase();
  if (initialOffset !== undefined && initialOffset !== 'newest' && initialOffset !== 'oldest')
    reader.problem('metadata initialOffset must be "newest" or "oldest"');
  const given = {
    ...{ brokers, initialOffset },
    clientId: reader.text('clientID'),
    consumerId: reader.text('consumerGroup') ?? reader.text('consumerID'),
    ...access(reader, type),
    maxMessageBytes: reader.number('maxMessageBytes'),
    compression: reader.text('compression')?.toLowerCase(),
    sessionTimeout: reader.durationMs('sessionTimeout', DURATION) || undefined,
    heartbeatInterval: reader.durationMs('heartbeatInterval', DURATION) || undefined,
    escapeHeaders: reader.flag('escapeHeaders'),
    excludeHeaders: excluded(reader),
  };
  // The cast is safe: what is not given is left out, and the rest is checked.
  return definedOnly(given) as unknown as KafkaAccessOptions;
}

function access(reader: MetadataReader, componentType: string): object {
  const type = authTypeOf(reader);
  switch (type) {
    case 'none':
      return {};
    case 'password':
      return { sasl: saslOf(reader), tls: tlsOf(reader) };
    case 'mtls':
    case 'certificate':
      return { tls: tlsOf(reader) };
    case 'oidc':
      return { sasl: oidcOf(reader), tls: tlsOf(reader) };
    case 'oidc_private_key_jwt':
    case 'awsiam':
      reader.problem(
        `metadata authType "${type}" is not supported in resource files: use ${componentType === 'pubsub.kafka' ? 'kafkaPubSub' : 'kafkaBinding'} in code, with sasl { mechanism: 'oauthbearer', token }`,
      );
      return {};
    default: {
      const what = type === undefined ? `${componentType} needs metadata authType:` : 'metadata authType must be';
      reader.problem(`${what} "none", "password", "oidc", "mtls" or "certificate"`);
      return {};
    }
  }
}

/** Earlier Daprs had `authRequired` in its place. */
function authTypeOf(reader: MetadataReader): string | undefined {
  const [type, isRequired] = [reader.text('authType'), reader.flag('authRequired')];
  if (type !== undefined || isRequired === undefined) return type?.toLowerCase();
  if (!isRequired) return 'none';
  return reader.text('saslPassword') === undefined ? 'mtls' : 'password';
}

function saslOf(reader: MetadataReader): object {
  const mechanism = MECHANISMS.get((reader.text('saslMechanism') ?? '').toLowerCase());
  if (mechanism === undefined) reader.problem('metadata saslMechanism must be "PLAINTEXT", "SHA-256" or "SHA-512"');
  const [username, password] = [reader.text('saslUsername'), reader.text('saslPassword')];
  if (username === undefined || password === undefined)
    reader.problem('metadata authType "password" needs saslUsername and saslPassword');
  return { mechanism, username, password };
}

/** Tokens of an OAuth 2.0 server, by the credentials of this client. */
function oidcOf(reader: MetadataReader): object {
  const [endpoint = '', clientId = ''] = [reader.text('oidcTokenEndpoint'), reader.text('oidcClientID')];
  const clientSecret = reader.text('oidcClientSecret') ?? '';
  if (serverUrl(endpoint, ['https:', 'http:']) === undefined || clientId === '' || clientSecret === '')
    reader.problem('metadata authType "oidc" needs oidcTokenEndpoint, an https URL, oidcClientID and oidcClientSecret');
  if (reader.text('oidcExtensions') !== undefined)
    reader.problem('metadata oidcExtensions: insidecar sends none; leave it out if the brokers need none');
  const scopes = (reader.text('oidcScopes') ?? 'openid').split(',').map((scope) => scope.trim());
  return { mechanism: 'oauthbearer', token: tokensOf({ endpoint, clientId, clientSecret, scopes }) };
}

/** As in Dapr, all but `none` mean TLS. */
function tlsOf(reader: MetadataReader): object | boolean {
  const certificates = reader.certificates();
  if (reader.flag('disableTls')) {
    reader.note('metadata disableTls: passwords and messages go over the network in the clear');
    return false;
  }
  if (!reader.flag('skipVerify')) return certificates ?? true;
  reader.note('metadata skipVerify: the broker may be anybody');
  return { ...certificates, rejectUnauthorized: false };
}

function excluded(reader: MetadataReader): RegExp | undefined {
  const text = reader.text('excludeHeaderMetaRegex');
  try {
    return text === undefined ? undefined : new RegExp(text);
  } catch {
    reader.problem('metadata excludeHeaderMetaRegex must be a regular expression');
    return undefined;
  }
}
