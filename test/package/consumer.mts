// What a TypeScript user writes, compiled against the packed package with its declarations checked.
import { createServer } from 'node:http';
import {
  durablePubSub,
  fetchHandler,
  isSidecarError,
  isStateError,
  memoryPubSub,
  memoryState,
  nodeHandler,
  Sidecar,
  type SidecarOptions,
  type Telemetry,
} from 'insidecar';
import { type TWorkflow, type WorkflowContext, WorkflowRuntime } from 'insidecar/dapr';
import { type EmbeddedOptions, embeddedState } from 'insidecar/embedded';
import { type InspectOptions, type Inspector, inspect } from 'insidecar/inspector';
import { jetstreamPubSub } from 'insidecar/jetstream';
import { type KafkaSasl, kafkaPubSub } from 'insidecar/kafka';
import { type PubSubDefinition, type StateDefinition, type StoreCase, stateStoreConformance } from 'insidecar/kit';
import { type MqttPubSubOptions, mqttPubSub } from 'insidecar/mqtt';
import { openTelemetry } from 'insidecar/otel';
import { postgresqlState } from 'insidecar/postgresql';
import { rabbitmqPubSub } from 'insidecar/rabbitmq';
import { redisPubSub, redisState } from 'insidecar/redis';
import { type LoadedResources, loadResources } from 'insidecar/resources';
import { type SmtpBindingOptions, smtpBinding } from 'insidecar/smtp';
import { type VirtualClock, virtualClock } from 'insidecar/testing';

interface Order {
  readonly id: number;
}

const clock: VirtualClock = virtualClock({ startAt: '2026-05-01T00:00:00Z' });
const pubsub: PubSubDefinition = memoryPubSub('pubsub', { allowedTopics: ['orders'] });
const place: EmbeddedOptions = { path: './state' };
const state: StateDefinition = process.env['DURABLE'] === '1' ? embeddedState(place) : memoryState();
const shared: readonly StateDefinition[] = [
  postgresqlState({ url: 'postgresql://app@db/shop', schema: 'orders' }),
  redisState({ nodes: ['a:26379', 'b:26379'], sentinelName: 'main' }),
];
const durable: PubSubDefinition = durablePubSub('durable', { scopes: ['orders'] });
const jetstream: PubSubDefinition = jetstreamPubSub('jetstream', { url: 'nats://a,nats://b', createStream: true });
const login: KafkaSasl = { mechanism: 'oauthbearer', token: () => 'token' };
const mqtt: MqttPubSubOptions = { url: 'mqtts://broker.internal', sharedSubscription: { instanceId: 'orders-1' } };
const brokers: readonly PubSubDefinition[] = [
  jetstream,
  kafkaPubSub('kafka', { brokers: ['a:9092', 'b:9092'], sasl: login }),
  mqttPubSub('mqtt', mqtt),
  rabbitmqPubSub('rabbitmq', { url: 'amqp://rabbit.internal', queueType: 'quorum' }),
  redisPubSub('redis', { nodes: ['a', 'b'], cluster: true }),
];
const mail: SmtpBindingOptions = { host: 'smtp.internal', emailFrom: 'shop@shop.example' };
const telemetry: Telemetry = openTelemetry({ messageParent: false });
const options: SidecarOptions = {
  appId: 'orders',
  components: [pubsub, durable, smtpBinding('mail', mail)],
  state,
  clock,
  telemetry,
};
const durableCases: readonly StoreCase[] = stateStoreConformance.filter(({ needs = [] }) => needs.includes('durable'));

const approval: TWorkflow = async function* (context: WorkflowContext, order: Order) {
  const approved: boolean = yield context.waitForExternalEvent('approved');
  return approved ? order.id : undefined;
};

export async function fromFiles(): Promise<SidecarOptions> {
  const loaded: LoadedResources = await loadResources(['./resources'], { appId: 'orders' });
  new WorkflowRuntime({ sidecar: new Sidecar(options) }).registerWorkflow(approval);
  return { appId: `orders${shared.length + brokers.length}`, ...loaded.options };
}

export async function main(): Promise<void> {
  const sidecar = new Sidecar(options);
  sidecar.events.on('messageDelivered', ({ topic, attempt, durationMs }) => console.log(topic, attempt, durationMs));
  await sidecar.start();
  const subscription = await sidecar.pubsub.subscribe<Order>('pubsub', 'orders', (event) => {
    const id: number | undefined = event.data?.id;
    return id === undefined ? 'DROP' : 'SUCCESS';
  });
  await sidecar.pubsub.publish<Order>('pubsub', 'orders', { id: 1 });
  // @ts-expect-error: not a number
  await sidecar.pubsub.publish<Order>('pubsub', 'orders', { id: 'one' });
  const inspection: InspectOptions = { authorize: () => 'none', payloads: 'none' };
  const inspector: Inspector = inspect(sidecar, inspection);
  createServer(nodeHandler(sidecar));
  const answer: Response | undefined = await fetchHandler(sidecar, { fallthrough: true })(new Request('http://x/'));
  console.log(durableCases.length, answer, sidecar.metadata.get().subscriptions[0]?.topic);
  await subscription.close();
  await inspector.close();
  await sidecar.stop();
}

main().catch((error: unknown) => {
  if (isSidecarError(error)) console.error(error.code, error.status);
  if (isStateError(error) && error.kind === 'in-use') console.error(error.message);
});
