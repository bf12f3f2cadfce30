import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type JetStreamPubSubOptions, jetstreamPubSub } from '../../../src/components/jetstream/index.ts';
import type { PubSubComponent } from '../../../src/components/pubsub.ts';
import { memoryState } from '../../../src/index.ts';
import { systemClock } from '../../../src/kit/index.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { hasNats, type OwnServer, startNats } from '../../support/servers.ts';

/** Whether there is a server for tests that do no harm to it. */
export function hasNatsUrl(): boolean {
  return process.env['INSIDECAR_TEST_NATS'] !== undefined || hasNats();
}

/** A server for tests that do no harm to it: that of `INSIDECAR_TEST_NATS`, else one of their own. */
export class NatsForTests implements AsyncDisposable {
  readonly url: string;
  readonly #own: OwnServer | undefined;

  private constructor(url: string, own?: OwnServer) {
    this.url = url;
    this.#own = own;
  }

  static async start(settings: readonly string[] = []): Promise<NatsForTests> {
    const given = process.env['INSIDECAR_TEST_NATS'];
    return given === undefined ? NatsForTests.own(settings) : new NatsForTests(given);
  }

  /** One of the test's own, with these settings. */
  static async own(...settings: Parameters<typeof startNats>): Promise<NatsForTests> {
    const own = await startNats(...settings);
    return new NatsForTests(`nats://127.0.0.1:${own.port}`, own);
  }

  /** A second client, which knows nothing of the component. */
  raw(): Promise<NatsConnection> {
    return connect({ servers: this.url.replace('nats://', '') });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#own?.[Symbol.asyncDispose]();
  }
}

/** Opens the component, without a sidecar. */
export async function openJetStream(
  url: string,
  options: JetStreamPubSubOptions = {},
  logger = new RecordingLogger(),
): Promise<PubSubComponent> {
  const definition = jetstreamPubSub('pubsub', { url, createStream: true, ...options });
  const state = await memoryState().open({ clock: systemClock, logger });
  return definition.open({ appId: 'orders', clock: systemClock, logger, state, track: () => () => {} });
}

/** A request to JetStream's API, made by hand. */
export async function ask<Reply>(raw: NatsConnection, action: string, body: object | string = ''): Promise<Reply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const reply = (await raw.request(`$JS.API.${action}`, text)).json<Reply & { error?: { description: string } }>();
  if (reply.error !== undefined) throw new Error(`${action}: ${reply.error.description}`);
  return reply;
}
