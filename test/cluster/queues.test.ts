import { describe, expect, test } from 'vitest';
import { Fleet, type Member } from '../support/fleet.ts';

const queue = (topic: string, group = 'shop') => ({ pubsubName: 'pubsub', topic, group }) as const;
const TOPICS = Array.from({ length: 8 }, (_, index) => `topic-${index}`);

/** Two hosts, and dead letters of every topic that nobody has subscribed to. */
async function withDeadLetters(fleet: Fleet): Promise<[Member, Member]> {
  const [a, b] = [await fleet.join(), await fleet.join()];
  await fleet.pass(2);
  for (const topic of TOPICS) {
    const fail = (): never => {
      throw new Error('declined');
    };
    const options = { deadLetterTopic: `dead-${topic}`, retry: { maxRetries: 0 } };
    const subscription = await a.sidecar.pubsub.subscribe('pubsub', topic, fail, options);
    await b.sidecar.pubsub.publish('pubsub', topic, topic);
    await fleet.pass(3);
    await subscription.close();
  }
  await fleet.pass(3);
  return [a, b];
}

describe('queues of one app ID on two hosts', () => {
  test('are the same on both, and dead letters without consumers are redelivered by either', async () => {
    await using fleet = new Fleet();
    const [a, b] = await withDeadLetters(fleet);
    for (const [index, topic] of TOPICS.entries()) {
      const member = index % 2 === 0 ? a : b;
      const [state] = await member.sidecar.pubsub.queues.list({ topic: `dead-${topic}` });
      expect(state).toMatchObject({ ready: 1, keepsDeadLetters: true, consumers: 0 });
      expect(await member.sidecar.pubsub.queues.redeliver(queue(`dead-${topic}`), 'all')).toBe(1);
    }
    await b.subscribe(...TOPICS);
    await fleet.pass(20);
    expect([...b.messages].sort()).toEqual(TOPICS);
    for (const topic of TOPICS) expect(await a.sidecar.pubsub.queues.list({ topic })).toMatchObject([{ ready: 0 }]);
  });

  test('are changed as a whole by either, also where the other hands messages out', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    for (const member of [a, b]) await member.subscribe(...TOPICS);
    await fleet.pass(3);
    for (const topic of TOPICS) await a.sidecar.pubsub.queues.pause(queue(topic));
    await fleet.pass(3);
    for (const topic of TOPICS)
      for (let number = 0; number < 20; number++) await a.sidecar.pubsub.publish('pubsub', topic, topic);
    await fleet.pass(3);
    expect([a.messages, b.messages]).toEqual([[], []]);
    for (const [index, topic] of TOPICS.entries()) {
      const [one, other] = index % 2 === 0 ? [a, b] : [b, a];
      expect(await one.sidecar.pubsub.queues.list({ topic })).toMatchObject([{ ready: 20, isPaused: true }]);
      expect(await one.sidecar.pubsub.queues.purge(queue(topic))).toBe(20);
      await a.sidecar.pubsub.publish('pubsub', topic, 'again');
      expect(await other.sidecar.pubsub.queues.purge(queue(topic))).toBe(1);
    }
    await fleet.pass(3);
    const requests = await fleet.memory.scan({ from: 'pubsub!' });
    expect(requests.filter(({ key }) => key.endsWith('!collector!'))).toEqual([]);
    for (const topic of TOPICS) await b.sidecar.pubsub.queues.resume(queue(topic));
    await fleet.pass(3);
    for (const topic of TOPICS) await a.sidecar.pubsub.publish('pubsub', topic, `after ${topic}`);
    await fleet.pass(3);
    expect([...a.messages, ...b.messages].sort()).toEqual(TOPICS.map((topic) => `after ${topic}`));
  });

  test('of a group that one host removes get nothing from the other, and those with consumers begin anew', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await a.sidecar.pubsub.queues.addGroup(queue('orders', 'shop/old'));
    await fleet.pass(3);
    await b.sidecar.pubsub.publish('pubsub', 'orders', 1);
    expect(await b.sidecar.pubsub.queues.list()).toMatchObject([{ group: 'shop/old', ready: 1 }]);
    expect(await b.sidecar.pubsub.queues.removeGroup(queue('orders', 'shop/old'))).toBe(true);
    await a.sidecar.pubsub.publish('pubsub', 'orders', 2);
    await fleet.pass(3);
    expect(await a.sidecar.pubsub.queues.list()).toEqual([]);
    const left = (await fleet.memory.scan({ from: 'pubsub!' })).filter(({ key }) =>
      /!(ready|delayed|group)!/.test(key),
    );
    expect(left).toEqual([]);
  });

  test('keep dead letters for a subscriber on either host, who gets each once', async () => {
    await using fleet = new Fleet();
    const [a, b] = await withDeadLetters(fleet);
    const subscription = await b.subscribe(...TOPICS.map((topic) => `dead-${topic}`));
    await fleet.pass(20);
    expect([a.messages, [...b.messages].sort()]).toEqual([[], TOPICS]);
    await subscription();
  });
});
