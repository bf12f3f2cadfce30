import { expect, test } from 'vitest';
import {
  type BrokerClient,
  type BrokerOptions,
  brokerDefinition,
} from '../../../src/components/broker/broker-pubsub.ts';
import type { Deadline } from '../../../src/components/broker/deadlines.ts';
import type { Message, PublishFailure, PubSubComponent } from '../../../src/components/pubsub.ts';
import { memoryState } from '../../../src/index.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { RecordedLine, type Tag } from './recorded-line.ts';

/** A client whose broker answers when the test says so. */
class HeldClient implements BrokerClient<Tag> {
  readonly name = 'Broker at localhost';
  readonly lines: RecordedLine[] = [];
  readonly deadlines: Deadline[] = [];
  readonly answers: ((failures: readonly PublishFailure[]) => void)[] = [];
  isDown = false;
  isClosed = false;
  failure: string | undefined;

  publish(_messages: readonly Message[], deadline: Deadline): Promise<readonly PublishFailure[]> {
    this.deadlines.push(deadline);
    return new Promise((resolve) => this.answers.push(resolve));
  }

  async openLine(...[options, receiver]: Parameters<BrokerClient<Tag>['openLine']>): Promise<RecordedLine> {
    if (this.isDown) throw new Error('Broker at localhost is down');
    const line = new RecordedLine(options, receiver);
    this.lines.push(line);
    return line;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

async function open(client: HeldClient, options: BrokerOptions = {}): Promise<PubSubComponent> {
  const definition = brokerDefinition({ name: 'pubsub', type: 'pubsub.test', options, connect: () => client });
  const [clock, logger] = [virtualClock(), new RecordingLogger()];
  const state = await memoryState().open({ clock, logger });
  return definition.open({ appId: 'orders', clock, logger, state, track: () => () => {} });
}

const MESSAGE: Message = { id: 'a', topic: 't', data: Buffer.from('a'), contentType: '', raw: true, metadata: {} };
const CONSUMER = { topic: 't', group: 'g', maxInFlight: 1, ordered: false, paused: false, deliver: () => {} };

test('a publish that the broker does not confirm in time fails, and is not sent later', async () => {
  const client = new HeldClient();
  const component = await open(client, { publishTimeout: 50 });
  const first = component.publish([MESSAGE]);
  const second = component.publish([MESSAGE]);
  client.answers[1]?.([]);
  await expect(second).resolves.toEqual([]);
  await expect(first).rejects.toThrow('Broker at localhost did not confirm the message within 50 ms');
  expect(client.deadlines.map(({ isOver }) => isOver)).toEqual([true, false]);
  client.failure = 'connection refused';
  const third = component.publish([MESSAGE]);
  await expect(third).rejects.toThrow('within 50 ms: connection refused');
  await component.close();
});

test('a subscription that the broker refuses can be tried again', async () => {
  const client = new HeldClient();
  const component = await open(client);
  client.isDown = true;
  await expect(component.subscribe(CONSUMER)).rejects.toThrow('is down');
  client.isDown = false;
  await component.subscribe(CONSUMER);
  expect(client.lines).toHaveLength(1);
  await component.close();
});

test('consumers of one group share a line, others have their own', async () => {
  const client = new HeldClient();
  const component = await open(client);
  await Promise.all([
    component.subscribe(CONSUMER),
    component.subscribe(CONSUMER),
    component.subscribe({ ...CONSUMER, group: 'other', metadata: { queueType: 'classic' } }),
  ]);
  expect(client.lines.map(({ options }) => [options.group, options.metadata])).toEqual([
    ['g', {}],
    ['other', { queueType: 'classic' }],
  ]);
  await component.close();
});

test('close ends all lines before the client, and refuses what comes after it', async () => {
  const client = new HeldClient();
  const component = await open(client);
  await component.subscribe(CONSUMER);
  await Promise.all([component.close(), component.close()]);
  expect(client.lines[0]?.taken().slice(-3)).toEqual(['stop', 'release ', 'close']);
  expect(client.isClosed).toBe(true);
  await expect(component.publish([MESSAGE])).rejects.toThrow('the component is closed');
  await expect(component.subscribe(CONSUMER)).rejects.toThrow('the component is closed');
});

test('messages that cannot be returned to the broker do not keep a consumer from leaving', async () => {
  const client = new HeldClient();
  const component = await open(client);
  const subscription = await component.subscribe(CONSUMER);
  const [line] = client.lines;
  if (line !== undefined) line.release = () => Promise.reject(new Error('connection lost'));
  await subscription.close();
  expect(line?.taken().at(-1)).toBe('close');
  await component.close();
});
