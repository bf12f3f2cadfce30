import { headers, type NatsConnection } from '@nats-io/transport-node';
import type { Message } from '../../src/index.ts';
import type { RawClient } from './brokers.ts';

/** NATS JetStream by its driver: requests in JSON, acknowledgements confirmed by one round trip for each window. */
export class RawNats implements RawClient {
  readonly #connection: NatsConnection;
  #published = 0;

  constructor(connection: NatsConnection) {
    this.#connection = connection;
  }

  async #ask(action: string, body: object): Promise<void> {
    const reply = await this.#connection.request(`$JS.API.${action}`, JSON.stringify(body));
    const { error } = reply.json<{ error?: { description: string } }>();
    if (error !== undefined) throw new Error(`${action}: ${error.description}`);
  }

  createStream(name: string): Promise<void> {
    return this.#ask(`STREAM.CREATE.${name}`, { name, subjects: [name] });
  }

  publish(topic: string, { data }: Message): Promise<unknown> {
    const own = headers();
    own.set('Nats-Msg-Id', `raw-${++this.#published}`);
    return this.#connection.request(topic, data, { headers: own, timeout: 5_000 });
  }

  /** Groups begin with the oldest message. */
  createGroup(topic: string): Promise<void> {
    return this.createStream(topic);
  }

  async consume(topic: string, group: string, count: number, window: number): Promise<void> {
    const config = { durable_name: group, ack_policy: 'explicit', max_ack_pending: 10_000 };
    await this.#ask(`CONSUMER.DURABLE.CREATE.${topic}.${group}`, { stream_name: topic, config });
    const inbox = `_INBOX.${topic}`;
    let [taken, due] = [0, 0];
    await new Promise<void>((resolve) => {
      const pull = (): void => {
        due = Math.min(window, count - taken);
        const body = `{"batch":${due},"expires":5000000000}`;
        this.#connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${topic}.${group}`, body, { reply: inbox });
      };
      const subscription = this.#connection.subscribe(inbox, {
        callback: (_error, message) => {
          message.respond('+ACK');
          taken++;
          if (--due > 0) return;
          void this.#connection.flush().then(() => {
            if (taken < count) return pull();
            subscription.unsubscribe();
            resolve();
          });
        },
      });
      pull();
    });
  }
}
