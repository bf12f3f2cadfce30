import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KafkaConsumer } from '../../../src/components/kafka/driver.ts';
import { GroupMembership } from '../../../src/components/kafka/group-membership.ts';
import type { Delivery, PubSubComponent } from '../../../src/components/pubsub.ts';
import { pause, until } from '../../support/broker-world.ts';
import { hasKafka, startKafka } from '../../support/servers.ts';
import { FakeGroup } from './fake-group.ts';
import { hasBroker, KafkaTestBroker } from './kafka-test-broker.ts';

const GROUP = { maxInFlight: 20, ordered: false, paused: false, group: 'app' };

describe.runIf(hasBroker())('consumers of Kafka', () => {
  let broker: KafkaTestBroker;
  beforeAll(async () => {
    broker = await KafkaTestBroker.start();
  });
  afterAll(() => broker?.[Symbol.asyncDispose]());

  async function newTopic(partitions: number): Promise<string> {
    const topic = `consumers-${randomUUID()}`;
    await broker.createTopic(topic, partitions);
    return topic;
  }

  /** Publishes texts without keys: they are spread evenly. */
  async function publish(component: PubSubComponent, topic: string, texts: readonly string[]): Promise<void> {
    const common = { topic, contentType: 'text/plain', raw: true, metadata: {} };
    await component.publish(texts.map((text) => ({ ...common, id: text, data: Buffer.from(text) })));
  }

  async function consume(component: PubSubComponent, topic: string): Promise<Delivery[]> {
    const got: Delivery[] = [];
    await component.subscribe({ ...GROUP, topic, deliver: (some) => got.push(...some) });
    return got;
  }
  const idsOf = (got: readonly Delivery[]): readonly string[] => got.map(({ message }) => message.id).sort();

  test('a message behind one that is not settled is acknowledged at once, and comes again after a restart', async () => {
    const topic = await newTopic(1);
    const before = await broker.open();
    const got = await consume(before, topic);
    await publish(before, topic, ['a', 'b', 'c']);
    await until('three were delivered', () => got.length === 3);
    await got[0]?.ack();
    await got[2]?.ack();
    await before.close();
    const after = await broker.open();
    const again = await consume(after, topic);
    await until('two came again', () => again.length >= 2);
    await pause(200);
    expect(idsOf(again)).toEqual(['b', 'c']);
    await after.close();
  });

  test('a process that joins gets partitions; the other one keeps the rest with all that is in process', async () => {
    const topic = await newTopic(4);
    const first = await broker.open();
    const kept = await consume(first, topic);
    await publish(first, topic, ['0', '1', '2', '3', '4', '5', '6', '7']);
    await until('eight were delivered', () => kept.length === 8);
    const second = await broker.open();
    const moved = await consume(second, topic);
    await until('half of them went over', () => moved.length >= 4);
    await pause(300);
    expect([kept.length, moved.length]).toEqual([8, 4]);
    const settled = await Promise.allSettled(kept.map((delivery) => delivery.ack()));
    const refused = kept.filter((_, index) => settled[index]?.status === 'rejected');
    expect(idsOf(refused)).toEqual(idsOf(moved));
    for (const delivery of moved) await delivery.ack();
    await first.close();
    await second.close();
    const third = await broker.open();
    const rest = await consume(third, topic);
    await pause(1_500);
    expect(idsOf(rest)).toEqual([]);
    await third.close();
  });

  test('a publish under way and those that wait for it end with the component', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const component = await broker.open({ brokers: [`127.0.0.1:${(silent.address() as AddressInfo).port}`] });
    const common = { topic: 't', contentType: 'text/plain', raw: true, metadata: {}, data: Buffer.from('x') };
    const first = component.publish([{ ...common, id: '1' }]);
    await until('it is under way', () => sockets.length > 0);
    const others = component.publish([
      { ...common, id: '2' },
      { ...common, id: '3' },
    ]);
    await component.close();
    const failures = (await Promise.all([first, others])).flat();
    expect(failures.map(({ index, error }) => [index, error.message])).toEqual(
      [0, 0, 1].map((index) => [index, 'the component is closed']),
    );
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  test('other names of topics are refused', async () => {
    const component = await broker.open();
    await expect(consume(component, 'a/b')).rejects.toThrow('Kafka has no topic "a/b": expected 1 to 249 letters');
    const common = { contentType: 'text/plain', raw: true, metadata: {}, data: Buffer.from('x') };
    const failures = await component.publish([
      { ...common, id: '1', topic: 'grüße' },
      { ...common, id: '2', topic: await newTopic(1) },
      { ...common, id: '3', topic: await newTopic(1), data: Buffer.alloc(2_000_000) },
    ]);
    expect(failures.map(({ index }) => index)).toEqual([0, 2]);
    expect(failures[1]?.error.message).toContain('takes 1048576, the option maxMessageBytes');
    await component.close();
  });
});

/** As much of the driver as joining a group needs. */
function joiningConsumer(joinGroup: () => Promise<void>): KafkaConsumer {
  const nothing = (): Promise<void> => Promise.resolve();
  const used = { topics: { track: () => true }, metadata: nothing, joinGroup, leaveGroup: nothing, close: nothing };
  return Object.assign(new EventEmitter(), used) as unknown as KafkaConsumer;
}

test('a member that is ended while it joins has not joined', async () => {
  let isAsked = false;
  let answer = (): void => undefined;
  const membership = new GroupMembership({
    ...{ topic: 't', times: { sessionTimeoutMs: 3_000, heartbeatIntervalMs: 500 } },
    ...{ assigned: () => undefined, lost: () => undefined },
    makeConsumer: () =>
      joiningConsumer(() => {
        isAsked = true;
        return new Promise((resolve) => {
          answer = resolve;
        });
      }),
  });
  const joined = membership.join();
  await until('it has asked', () => isAsked);
  await membership.end();
  answer();
  await expect(joined).rejects.toThrow('the membership has ended');
});

describe('a member of a group', () => {
  test.each([
    ['as it was', 0, 0],
    ['divided once more', 1, 0],
    ['divided twice, once without it', 2, 1],
  ])('that joins again after its connection broke and finds the group %s', async (_how, divisions, detached) => {
    const group = new FakeGroup();
    const line = await group.open();
    await until('a message is here', () => group.delivered.length === 1);
    group.generation += divisions;
    group.tell('consumer:heartbeat:error', { error: new Error('the connection was reset') });
    await until('it has joined again', () => group.joins === 2);
    expect(group.detached).toBe(detached);
    await line.close();
  });

  test('stays in it when the places of an assignment are refused that was replaced meanwhile', async () => {
    const group = new FakeGroup();
    const line = await group.open();
    await until('a message is here', () => group.delivered.length === 1);
    let refuse: ((error: Error) => void) | undefined;
    group.placesAsked = () =>
      new Promise((_resolve, reject) => {
        refuse = reject;
      });
    group.partitions = [0, 1];
    group.generation++;
    group.tell();
    group.placesAsked = () => Promise.resolve();
    group.generation++;
    group.tell();
    refuse?.(new Error('ILLEGAL_GENERATION'));
    await until('both partitions are read', () => group.delivered.length === 2);
    await pause(50);
    expect([group.joins, group.leaves, group.detached]).toEqual([1, 0, 0]);
    await line.close();
  });

  test.each([
    ['its only partition: that is read with another one', [1], 1],
    ['one of two partitions: the other one is read', [0, 1], 0],
  ])('whose client does not know the broker of %s', async (_what, partitions, first) => {
    const group = new FakeGroup();
    group.partitions = partitions;
    group.known = [1, 2];
    const line = await group.open();
    await until('a message is here', () => group.delivered.length > 0, 3_000);
    expect(group.delivered).toEqual([first]);
    await line.close();
  });
});

describe.runIf(hasKafka())('the log-in to Kafka', () => {
  test('by a password', async () => {
    await using server = await startKafka(['-user', 'PLAIN,app,opensesame']);
    const broker = await KafkaTestBroker.start();
    const open = (password: string) =>
      broker.open({
        brokers: [`127.0.0.1:${server.port}`],
        sasl: { mechanism: 'plain', username: 'app', password },
        publishTimeout: 1_000,
      });
    const message = {
      topic: 't',
      id: '1',
      contentType: 'text/plain',
      raw: true,
      metadata: {},
      data: Buffer.from('x'),
    };
    const right = await open('opensesame');
    expect(await right.publish([message])).toEqual([]);
    await right.close();
    const wrong = await open('guess');
    await expect(wrong.publish([message])).rejects.toThrow('did not confirm the message within 1000 ms');
    await wrong.close();
    await broker[Symbol.asyncDispose]();
  });
});
