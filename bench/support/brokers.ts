import { loadRedis, type RedisClient } from '../../src/components/redis/driver.ts';
import type { Message } from '../../src/index.ts';
import type { PubSubDefinition } from '../../src/kit/index.ts';
import { type OwnServer, startNats, startRedis } from '../../test/support/servers.ts';
import { startMqttBroker } from './mqtt-broker.ts';
import { startRabbitmqBroker } from './rabbitmq-broker.ts';
import { RawNats } from './raw-nats.ts';

/** A technology in `bench/brokers.ts`. */
export interface Broker {
  readonly name: string;
  /** The entry point and the function that make its component. */
  readonly entry: string;
  readonly factory: string;
  /** Starts a server of the benchmark's own. */
  start(): Promise<RunningBroker>;
}

/** A server, as its driver and the component reach it. */
export interface RunningBroker extends AsyncDisposable {
  /** The options of the component, in plain JSON. */
  readonly options: object;
  /** The driver, used as directly as possible. */
  readonly raw: RawClient;
}

/** What one would write without a component: no reconnection, no retries, no attempts. */
export interface RawClient {
  /** Resolves when the broker has confirmed the message. */
  publish(topic: string, message: Message): Promise<unknown>;
  /** Makes a group that gets what is published from now on. */
  createGroup(topic: string, group: string): Promise<void>;
  /** Consumes and acknowledges this many messages, at most `window` at a time. */
  consume(topic: string, group: string, count: number, window: number): Promise<void>;
}

/** The factories of components, by name. */
type Factories = Readonly<Record<string, (name: string, options: object) => PubSubDefinition>>;

/** Makes the component as it is published. */
export async function defineBuilt(
  { entry, factory }: Pick<Broker, 'entry' | 'factory'>,
  options: object,
): Promise<PubSubDefinition> {
  const factories = (await import(new URL(`../../dist/${entry}.mjs`, import.meta.url).href)) as Factories;
  const make = factories[factory];
  if (make === undefined) throw new Error(`dist/${entry}.mjs has no ${factory}: run \`npm run build\` first`);
  return make('pubsub', options);
}

class RawRedis implements RawClient {
  readonly #client: RedisClient;

  constructor(client: RedisClient) {
    this.#client = client;
  }

  publish(topic: string, { data }: Message): Promise<unknown> {
    return this.#client.sendCommand(['XADD', topic, '*', 'data', Buffer.from(data), 'metadata', '{}']);
  }

  async createGroup(topic: string, group: string): Promise<void> {
    await this.#client.sendCommand(['XGROUP', 'CREATE', topic, group, '$', 'MKSTREAM']);
  }

  async consume(topic: string, group: string, count: number, window: number): Promise<void> {
    const acknowledged: Promise<unknown>[] = [];
    for (let taken = 0; taken < count; ) {
      const options = ['COUNT', String(window), 'STREAMS', topic, '>'];
      const reply = await this.#client.sendCommand(['XREADGROUP', 'GROUP', group, 'raw', ...options]);
      const [[, entries] = []] = (reply ?? []) as [string, [string, string[]][]][];
      const ids = (entries ?? []).map(([id]) => id);
      taken += ids.length;
      acknowledged.push(this.#client.sendCommand(['XACK', topic, group, ...ids]));
    }
    await Promise.all(acknowledged);
  }
}

async function startRedisBroker(): Promise<RunningBroker> {
  const server: OwnServer = await startRedis(['--appendfsync', 'everysec']);
  const { createClient } = await loadRedis();
  const client = createClient({ RESP: 2, socket: { host: '127.0.0.1', port: server.port } });
  await client.connect();
  return {
    options: { url: `redis://127.0.0.1:${server.port}` },
    raw: new RawRedis(client),
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function startNatsBroker(): Promise<RunningBroker> {
  const server = await startNats();
  const { connect } = await import('@nats-io/transport-node');
  const connection = await connect({ servers: `127.0.0.1:${server.port}` });
  const raw = new RawNats(connection);
  await raw.createStream('published-raw');
  return {
    options: { url: `nats://127.0.0.1:${server.port}`, createStream: true },
    raw,
    [Symbol.asyncDispose]: async () => {
      await connection.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Every technology; a new one is one more entry. */
export const BROKERS: readonly Broker[] = [
  { name: 'redis', entry: 'redis', factory: 'redisPubSub', start: startRedisBroker },
  { name: 'jetstream', entry: 'jetstream', factory: 'jetstreamPubSub', start: startNatsBroker },
  { name: 'mqtt5', entry: 'mqtt', factory: 'mqttPubSub', start: () => startMqttBroker(5) },
  { name: 'mqtt3', entry: 'mqtt', factory: 'mqttPubSub', start: () => startMqttBroker(4) },
  { name: 'rabbitmq', entry: 'rabbitmq', factory: 'rabbitmqPubSub', start: startRabbitmqBroker },
];
