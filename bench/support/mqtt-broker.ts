import { connect, connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { clientIdOf, sessionKey } from '../../src/components/mqtt/names.ts';
import type { Message } from '../../src/index.ts';
import { startMosquitto } from '../../test/support/servers.ts';
import type { RawClient, RunningBroker } from './brokers.ts';

/** The client of `mqtt`: it acknowledges each message before it reads the next one. */
class RawMqtt implements RawClient {
  readonly #url: string;
  readonly #options: IClientOptions;
  readonly #client: MqttClient;

  constructor(url: string, options: IClientOptions, client: MqttClient) {
    this.#url = url;
    this.#options = options;
    this.#client = client;
  }

  publish(topic: string, { data }: Message): Promise<unknown> {
    return this.#client.publishAsync(topic, Buffer.from(data), { qos: 1 });
  }

  /** Connects to the session that the component has for the group. It may send before it is connected. */
  #session(topic: string, group: string, window: number): MqttClient {
    const properties = { sessionExpiryInterval: 3_600, receiveMaximum: window };
    return connect(this.#url, {
      ...this.#options,
      clientId: clientIdOf(group, sessionKey([group, topic])),
      clean: false,
      ...(this.#options.protocolVersion === 5 ? { properties } : {}),
    });
  }

  async createGroup(topic: string, group: string): Promise<void> {
    const session = this.#session(topic, group, 1);
    await session.subscribeAsync(topic, { qos: 1 });
    await session.endAsync();
  }

  async consume(topic: string, group: string, count: number, window: number): Promise<void> {
    const session = this.#session(topic, group, window);
    let taken = 0;
    await new Promise<void>((resolve) => {
      const taking = (): void => {
        if (++taken >= count) resolve();
      };
      session.on('message', taking);
      session.subscribe(topic, { qos: 1 });
    });
    await session.endAsync();
  }
}

/** Starts Mosquitto for one version of the protocol. */
export async function startMqttBroker(protocolVersion: 4 | 5): Promise<RunningBroker> {
  const server = await startMosquitto();
  const url = `mqtt://127.0.0.1:${server.port}`;
  const client = await connectAsync(url, { protocolVersion });
  return {
    options: { url, protocolVersion },
    raw: new RawMqtt(url, { protocolVersion }, client),
    [Symbol.asyncDispose]: async () => {
      await client.endAsync();
      await server[Symbol.asyncDispose]();
    },
  };
}
