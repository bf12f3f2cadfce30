import { type MqttBindingOptions, mqttBinding } from '../components/mqtt/index.ts';
import { isApiError } from '../errors.ts';
import { definedOnly } from '../util/defined-only.ts';
import { BROKER_BINDING_NAMES, brokerBindingMetadata } from './broker-binding-metadata.ts';
import { MetadataReader } from './metadata-reader.ts';
import { checkQos, mqttTls } from './mqtt-pubsub.ts';
import type { MakeStore } from './store-source.ts';

/** The metadata of a `bindings.mqtt3`. */
export const mqttBindingMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [
    ...BROKER_BINDING_NAMES,
    ...['url', 'topic', 'consumerID', 'qos', 'retain', 'cleanSession', 'backOffMaxRetries'],
    ...['caCert', 'clientCert', 'clientKey'],
  ],
  ignores: [],
};

/** Makes a `bindings.mqtt3`. */
export const makeMqttBinding: MakeStore = (source) => {
  const reader = new MetadataReader(source);
  const url = reader.text('url');
  const topic = reader.text('topic');
  const consumerId = reader.text('consumerID');
  for (const [name, text] of Object.entries({ url, topic, consumerID: consumerId }))
    if (text === undefined) reader.problem(`${source.type} needs metadata ${name}`);
  checkQos(reader);
  const cleanSession = reader.flag('cleanSession');
  if (cleanSession)
    reader.note('metadata cleanSession: the broker forgets what was not accepted when the connection ends');
  const given = {
    ...brokerBindingMetadata(reader),
    ...{ url, topic, consumerId, cleanSession, retain: reader.flag('retain'), tls: mqttTls(reader, url) },
    ...retriesOf(reader),
  };
  if (reader.hasProblem) return undefined;
  try {
    // The cast is safe: what is not given is left out, and url and topic are given.
    return { ...mqttBinding(source.name, definedOnly(given) as MqttBindingOptions), type: source.type };
  } catch (error) {
    if (!isApiError(error)) throw error;
    // Without values: they may come from a secret store.
    reader.problem(
      'metadata url must be like "tcp://user:password@host:1883", topic one that can be read, and certificates valid',
    );
    return undefined;
  }
};

/** As Dapr's name says it: a negative number is no limit. */
function retriesOf(reader: MetadataReader): { readonly maxRetries?: number } {
  const text = reader.text('backOffMaxRetries');
  if (text === undefined || /^-\d{1,10}$/.test(text)) return {};
  return { maxRetries: reader.number('backOffMaxRetries') ?? 0 };
}
