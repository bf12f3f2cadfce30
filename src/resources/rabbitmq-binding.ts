import { type RabbitmqBindingOptions, rabbitmqBinding } from '../components/rabbitmq/index.ts';
import { isApiError } from '../errors.ts';
import { definedOnly } from '../util/defined-only.ts';
import { BROKER_BINDING_NAMES, brokerBindingMetadata } from './broker-binding-metadata.ts';
import { MetadataReader } from './metadata-reader.ts';
import { RABBITMQ_TTL, RABBITMQ_WAIT } from './rabbitmq-pubsub.ts';
import type { MakeStore } from './store-source.ts';

/** The metadata of a `bindings.rabbitmq`. */
export const rabbitmqBindingMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [
    ...BROKER_BINDING_NAMES,
    ...['host', 'queueName', 'durable', 'deleteWhenUnused', 'exclusive', 'prefetchCount', 'maxPriority'],
    ...['ttlInSeconds', 'reconnectWaitInSeconds', 'caCert', 'clientCert', 'clientKey', 'saslExternal'],
  ],
  ignores: ['contentType'],
};

const MAX_PRIORITY = 255;
const MAX_PREFETCH = 65_535;

/** Makes a `bindings.rabbitmq`. */
export const makeRabbitmqBinding: MakeStore = (source) => {
  const reader = new MetadataReader(source);
  const [url, queueName] = [reader.text('host'), reader.text('queueName')];
  if (url === undefined) reader.problem('bindings.rabbitmq needs metadata host: "amqp://user:password@host:5672"');
  if (queueName === undefined) reader.problem('bindings.rabbitmq needs metadata queueName');
  const priority = reader.number('maxPriority');
  const given = {
    ...brokerBindingMetadata(reader),
    ...{ url, queueName, tls: reader.certificates(), saslExternal: reader.flag('saslExternal') },
    // As Dapr declares queues: both can share one.
    durable: reader.flag('durable') ?? false,
    queueAutoDelete: reader.flag('deleteWhenUnused'),
    exclusive: reader.flag('exclusive'),
    maxPriority: priority === undefined ? undefined : Math.min(priority, MAX_PRIORITY),
    messageTtl: reader.durationMs('ttlInSeconds', RABBITMQ_TTL) || undefined,
    maxPrefetch: reader.number('prefetchCount', { max: MAX_PREFETCH }),
    maxReconnectDelay: reader.durationMs('reconnectWaitInSeconds', RABBITMQ_WAIT) || undefined,
  };
  if (reader.hasProblem) return undefined;
  try {
    // The cast is safe: what is not given is left out, and host and queueName are given.
    return rabbitmqBinding(source.name, definedOnly(given) as unknown as RabbitmqBindingOptions);
  } catch (error) {
    if (!isApiError(error)) throw error;
    // Without values: they may come from a secret store.
    reader.problem(
      'metadata host must be like "amqp://user:password@host:5672/vhost", queueName at most 255 bytes; certificates must be valid, and need "amqps://" as saslExternal does',
    );
    return undefined;
  }
};
