import { connect } from 'amqplib';
import { memoryState } from '../../../src/components/memory/memory-store.ts';
import type { PubSubComponent, PubSubDefinition } from '../../../src/components/pubsub.ts';
import { type RabbitmqPubSubOptions, rabbitmqPubSub } from '../../../src/components/rabbitmq/index.ts';
import { type RabbitmqServerOptions, type RabbitServer, serverOf } from '../../../src/components/rabbitmq/server.ts';
import { SidecarError } from '../../../src/errors.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { hasRabbitmq, startRabbitmq } from '../../support/servers.ts';

/** A RabbitMQ for tests that harm nobody: that of INSIDECAR_TEST_RABBITMQ, else one of their own. */
export interface TestBroker extends AsyncDisposable {
  readonly port: number;
}

const given = process.env['INSIDECAR_TEST_RABBITMQ'];

/** Whether there is one. */
export function hasBroker(): boolean {
  return given !== undefined || hasRabbitmq();
}

/** `INSIDECAR_TEST_RABBITMQ` is the port on 127.0.0.1, where `guest` may log in. */
export async function startBroker(): Promise<TestBroker> {
  if (given === undefined) return startRabbitmq();
  return { port: Number(given), [Symbol.asyncDispose]: async () => undefined };
}

export function urlOf(port: number): string {
  return `amqp://127.0.0.1:${port}`;
}

/** What the options of a connection mean. */
export function serverAt(options: RabbitmqServerOptions): RabbitServer {
  return serverOf(options, (name, expected) => new SidecarError('ERR_CONFIGURATION', `${name}: expected ${expected}`));
}

/** A component as a sidecar opens it, and its log. */
export interface OpenedComponent {
  readonly component: PubSubComponent;
  readonly logger: RecordingLogger;
  /** The topics of messages that came to no queue. */
  readonly unsubscribed: string[];
}

/** Opens a component for an application. */
export function openComponent(
  port: number,
  options: RabbitmqPubSubOptions = {},
  appId = 'orders',
): Promise<OpenedComponent> {
  return openDefinition(rabbitmqPubSub('pubsub', { url: urlOf(port), ...options }), appId);
}

export async function openDefinition(
  definition: PubSubDefinition | undefined,
  appId: string,
): Promise<OpenedComponent> {
  if (definition === undefined) throw new Error('there is no component');
  const [logger, unsubscribed] = [new RecordingLogger(), [] as string[]];
  const state = await memoryState().open({ clock: systemClock, logger });
  const component = await definition.open({
    appId,
    clock: systemClock,
    logger,
    state,
    track: () => () => {},
    noGroup: (topic) => unsubscribed.push(topic),
  });
  return { component, logger, unsubscribed };
}

/** A client that knows nothing of our code. */
export async function withClient<T>(
  port: number,
  use: (connection: Awaited<ReturnType<typeof connect>>) => Promise<T>,
): Promise<T> {
  const connection = await connect(urlOf(port));
  connection.on('error', () => undefined);
  try {
    return await use(connection);
  } finally {
    await connection.close().catch(() => undefined);
  }
}

/** How many messages wait in a queue, and how many consumers it has. */
export function queueState(
  port: number,
  queue: string,
): Promise<{ readonly messageCount: number; readonly consumerCount: number }> {
  return withClient(port, async (connection) => {
    const channel = await connection.createChannel();
    return channel.checkQueue(queue);
  });
}
