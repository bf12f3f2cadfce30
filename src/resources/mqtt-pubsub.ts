import { type MqttPubSubOptions, mqttPubSub } from '../components/mqtt/index.ts';
import type { PubSubDefinition } from '../components/pubsub.ts';
import { isApiError } from '../errors.ts';
import { definedOnly } from '../util/defined-only.ts';
import type { BrokerResource } from './broker-pubsub.ts';
import { MetadataReader } from './metadata-reader.ts';
import { TOPIC_SCOPE_NAMES } from './topic-scopes.ts';

const USED = [
  'url',
  'consumerID',
  'qos',
  'retain',
  'cleanSession',
  'caCert',
  'clientCert',
  'clientKey',
  'sharedSubscription',
  'clientIdPrefix',
  'receiveMaximum',
] as const;

/** Dapr's metadata of MQTT brokers, and ours. */
export const mqttMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [...TOPIC_SCOPE_NAMES, ...USED],
  // Of `pubsub.mqtt` in earlier Daprs.
  ignores: [
    'producerID',
    'backOffPolicy',
    'backOffDuration',
    'backOffInitialInterval',
    'backOffMaxInterval',
    'backOffMaxElapsedTime',
    'backOffMaxRetries',
    'backOffMultiplier',
    'backOffRandomizationFactor',
  ],
};

/** `pubsub.mqtt3`, the version that Dapr speaks. */
export function makeMqtt3PubSub(resource: BrokerResource): PubSubDefinition | undefined {
  return fromResource(resource, 4);
}

/** `pubsub.mqtt5`, which Dapr does not have. */
export function makeMqtt5PubSub(resource: BrokerResource): PubSubDefinition | undefined {
  return fromResource(resource, 5);
}

function fromResource(resource: BrokerResource, protocolVersion: 4 | 5): PubSubDefinition | undefined {
  const { name, topics } = resource;
  const reader = new MetadataReader(resource);
  const url = reader.text('url');
  if (url === undefined) reader.problem('MQTT needs metadata url: "tcp://user:password@host:1883", or ssl for TLS');
  checkQos(reader);
  const cleanSession = reader.flag('cleanSession');
  if (cleanSession)
    reader.note(
      'metadata cleanSession: the broker forgets what the application has not processed when its connection ends',
    );
  const instanceId = reader.text('sharedSubscription');
  const given = {
    ...{ url, protocolVersion, cleanSession, retain: reader.flag('retain'), ...topics },
    consumerId: reader.text('consumerID'),
    // An empty one counts: names then have none.
    clientIdPrefix: reader.values.get('clientIdPrefix'),
    sharedSubscription: instanceId === undefined ? undefined : { instanceId },
    receiveMaximum: reader.number('receiveMaximum', { min: 1, max: 65_535 }),
    tls: mqttTls(reader, url),
  };
  if (reader.hasProblem) return undefined;
  try {
    // The cast is safe: what is not given is left out, and the url is given.
    return mqttPubSub(name, definedOnly(given) as MqttPubSubOptions);
  } catch (error) {
    if (!isApiError(error)) throw error;
    resource.problem(error.message);
    return undefined;
  }
}

/** Messages have QoS 1. */
export function checkQos(reader: MetadataReader): void {
  const qos = reader.text('qos');
  if (qos === undefined || qos === '1') return;
  if (qos === '2') reader.note('metadata qos is 2: messages have QoS 1, at least once, as all of insidecar');
  else if (qos === '0') reader.problem('metadata qos is 0, which loses messages: expected "1"');
  else reader.problem('metadata qos must be "1"');
}

/** The certificates, if the URL is one with TLS. */
export function mqttTls(reader: MetadataReader, url = ''): object | undefined {
  const certificates = reader.certificates();
  if (certificates === undefined || !/^(?:tcp|mqtt):/i.test(url)) return certificates;
  reader.note('metadata caCert, clientCert and clientKey have no effect: the url is one without TLS');
  return undefined;
}
