import { memoryState } from '../../../src/components/memory/memory-store.ts';
import { type MqttPubSubOptions, mqttPubSub } from '../../../src/components/mqtt/index.ts';
import type { PubSubComponent, PubSubDefinition } from '../../../src/components/pubsub.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { hasMosquitto, type OwnServer, startMosquitto } from '../../support/servers.ts';

/** The port on 127.0.0.1 of the broker that the environment names, if any. */
const GIVEN = process.env['INSIDECAR_TEST_MQTT'];

/** Whether tests that need a broker can run. */
export function hasBroker(): boolean {
  return GIVEN !== undefined || hasMosquitto();
}

/** A broker for a test file: that of `INSIDECAR_TEST_MQTT`, or a Mosquitto of its own. */
export class MqttTestBroker implements AsyncDisposable {
  readonly port: number;
  readonly logger = new RecordingLogger();
  readonly #server: OwnServer | undefined;
  /** The instance IDs in use: the lowest free one is taken next, as after a restart. */
  readonly #instances = new Set<number>();

  private constructor(port: number, server?: OwnServer) {
    this.port = port;
    this.#server = server;
  }

  static async start(): Promise<MqttTestBroker> {
    if (GIVEN !== undefined) return new MqttTestBroker(Number(GIVEN));
    const server = await startMosquitto();
    return new MqttTestBroker(server.port, server);
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`;
  }

  define(options: Partial<MqttPubSubOptions> = {}): PubSubDefinition {
    return mqttPubSub('pubsub', { url: this.url, ...options });
  }

  async open(options: Partial<MqttPubSubOptions> = {}, appId = 'app'): Promise<PubSubComponent> {
    const state = await memoryState().open({ clock: systemClock, logger: this.logger });
    const { logger } = this;
    return this.define(options).open({ appId, clock: systemClock, logger, state, track: () => () => undefined });
  }

  /** Opens the component as one of several processes that share the messages of a group. */
  async openInstance(options: Partial<MqttPubSubOptions> = {}): Promise<PubSubComponent> {
    let instance = 0;
    while (this.#instances.has(instance)) instance++;
    this.#instances.add(instance);
    const component = await this.open({ ...options, sharedSubscription: { instanceId: String(instance) } });
    return {
      publish: (messages) => component.publish(messages),
      subscribe: (given) => component.subscribe(given),
      close: async () => {
        await component.close();
        this.#instances.delete(instance);
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }
}
