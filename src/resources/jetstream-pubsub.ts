import {
  type JetStreamDeliverPolicy,
  type JetStreamPubSubOptions,
  jetstreamPubSub,
} from '../components/jetstream/index.ts';
import type { PubSubDefinition, TopicScopes } from '../components/pubsub.ts';
import { isApiError } from '../errors.ts';
import { definedOnly } from '../util/defined-only.ts';
import type { BrokerResource } from './broker-pubsub.ts';
import { DAY_MS, MetadataReader } from './metadata-reader.ts';
import { TOPIC_SCOPE_NAMES } from './topic-scopes.ts';

const MIN_ACK_WAIT_MS = 1_000;

/** The metadata names of a `pubsub.jetstream`: those that it uses, and those of Dapr's without a use here. */
export const jetstreamMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [
    ...TOPIC_SCOPE_NAMES,
    'natsURL',
    'name',
    'token',
    'jwt',
    'seedKey',
    'tls_client_cert',
    'tls_client_key',
    'streamName',
    'durableName',
    'domain',
    'apiPrefix',
    'deliverPolicy',
    'startSequence',
    'startTime',
    'ackPolicy',
    'ackWait',
    'maxAckPending',
    'maxDeliver',
    'replicas',
    'memoryStorage',
    'createStream',
  ],
  ignores: ['backOff', 'concurrency', 'flowControl', 'heartbeat', 'queueGroupName', 'rateLimit'],
};

/** Makes the component of a `pubsub.jetstream`. */
export function makeJetStreamPubSub(resource: BrokerResource): PubSubDefinition | undefined {
  const reader = new MetadataReader(resource);
  const options = optionsOf(reader, resource.topics);
  if (reader.hasProblem) return undefined;
  tellDifferences(resource, options);
  try {
    return jetstreamPubSub(resource.name, options);
  } catch (error) {
    if (!isApiError(error)) throw error;
    resource.problem(problemOf(options));
    return undefined;
  }
}

/** Without values: they may come from a secret store. */
function problemOf({ stream, createStream }: JetStreamPubSubOptions): string {
  if (stream !== undefined && createStream !== undefined)
    return 'metadata createStream makes a stream for each topic: leave streamName out, or create that stream yourself';
  return 'metadata natsURL must be like "nats://user:password@host:4222"; streamName and durableName must be names, domain and apiPrefix parts of a subject, tls_client_cert and tls_client_key valid';
}

function optionsOf(reader: MetadataReader, topics: TopicScopes): JetStreamPubSubOptions {
  const url = reader.text('natsURL');
  if (url === undefined) reader.problem('pubsub.jetstream needs metadata natsURL: "nats://host:4222"');
  const [replicas, ackWaitMs] = [reader.number('replicas'), reader.durationMs('ackWait', { maxMs: DAY_MS })];
  const policy = policyOf(reader);
  const ackPolicy = reader.text('ackPolicy') ?? 'explicit';
  if (ackPolicy !== 'explicit')
    reader.problem('metadata ackPolicy must be "explicit": with another one, messages that fail would be lost');
  const [jwt, seed] = reader.pair('jwt', 'seedKey') ?? [];
  const own = reader.pair('tls_client_cert', 'tls_client_key');
  const given = {
    ...topics,
    url,
    connectionName: reader.text('name'),
    token: reader.text('token'),
    jwt,
    seed,
    tls: own && { ...pemOrFile('cert', own[0]), ...pemOrFile('key', own[1]) },
    stream: reader.text('streamName'),
    continueDurable: reader.text('durableName'),
    domain: reader.text('domain'),
    apiPrefix: reader.text('apiPrefix'),
    deliverPolicy: policy,
    ackWait: ackWaitMs ? Math.max(MIN_ACK_WAIT_MS, ackWaitMs) : undefined,
    maxAckPending: reader.number('maxAckPending'),
    replicas,
    memoryStorage: reader.flag('memoryStorage'),
    createStream: reader.flag('createStream') ? (replicas === undefined ? true : { replicas }) : undefined,
  };
  // The cast is safe: what is not given is left out.
  return definedOnly(given) as JetStreamPubSubOptions;
}

function policyOf(reader: MetadataReader): JetStreamDeliverPolicy | undefined {
  const policy = reader.choice('deliverPolicy', ['all', 'last', 'new', 'sequence', 'time']);
  const [startSequence, startTime] = [reader.number('startSequence'), reader.number('startTime')];
  switch (policy) {
    case 'sequence':
      if (startSequence === undefined) reader.problem('metadata deliverPolicy "sequence" needs startSequence');
      return { startSequence: startSequence ?? 1 };
    case 'time':
      if (startTime === undefined) reader.problem('metadata deliverPolicy "time" needs startTime');
      return { startTime: new Date((startTime ?? 0) * 1_000) };
    default:
      return policy;
  }
}

/** Dapr takes paths; its documents show the texts. */
function pemOrFile(option: 'cert' | 'key', text: string): object {
  return text.startsWith('-----BEGIN') ? { [option]: text } : { [`${option}File`]: text };
}

/** Notes what has another effect than in Dapr. */
function tellDifferences({ values, note }: BrokerResource, { continueDurable }: JetStreamPubSubOptions): void {
  if (continueDurable !== undefined)
    note(
      'consumers are named after group and topic; a new one begins where the consumer durableName stands, if there is one',
    );
  if (/^[1-9]/.test(values.get('maxDeliver') ?? ''))
    note('metadata maxDeliver has no effect: the server would drop messages silently; set a dead-letter topic');
  if (values.get('ackWait'))
    note('metadata ackWait is how soon messages of a dead process come again, not how long a handler may take');
}
