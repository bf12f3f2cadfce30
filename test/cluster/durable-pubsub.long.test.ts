import { describe, expect, test } from 'vitest';
import { RecordingApp } from '../support/app.ts';
import { Fleet, type Member } from '../support/fleet.ts';

const TOPICS = Array.from({ length: 12 }, (_, index) => `topic-${index}`);

/** Publishes one message to every topic, in turns from each of the members. */
async function publish(members: readonly Member[], text: string): Promise<string[]> {
  const sent: string[] = [];
  for (const [index, topic] of TOPICS.entries()) {
    const message = `${text} ${topic}`;
    await members[index % members.length]?.sidecar.pubsub.publish('pubsub', topic, message);
    sent.push(message);
  }
  return sent;
}

const all = (...members: readonly Member[]): string[] => members.flatMap(({ messages }) => messages).sort();
const stored = async ({ memory }: Fleet): Promise<number> =>
  (await memory.scan({ from: 'pubsub!' })).filter(({ key }) => /!(ready|delayed)!/.test(key)).length;

async function pair(fleet: Fleet): Promise<[Member, Member]> {
  const [a, b] = [await fleet.join(), await fleet.join()];
  for (const member of [a, b]) await member.subscribe(...TOPICS);
  await fleet.pass(2);
  return [a, b];
}

describe('durable topics of one app ID on two hosts', () => {
  test('come to one of them each, whoever publishes, once and at once', async () => {
    await using fleet = new Fleet();
    const [a, b] = await pair(fleet);
    const sent = [...(await publish([a, b], 'first')), ...(await publish([b, a], 'second'))];
    for (const { clock } of fleet.members) await clock.settled();
    expect(all(a, b)).toEqual([...sent].sort());
    expect([a.messages.length > 0, b.messages.length > 0, await stored(fleet)]).toEqual([true, true, 0]);
  });

  test('go on at the other as soon as one stops', async () => {
    await using fleet = new Fleet();
    const [a, b] = await pair(fleet);
    fleet.members.shift();
    await a.stop();
    const sent = await publish([b], 'after');
    await fleet.pass(1);
    expect([a.messages, all(b)]).toEqual([[], [...sent].sort()]);
  });

  test('go on at the other within the lease when one stands still: nothing is lost', async () => {
    await using fleet = new Fleet();
    const [a, b] = await pair(fleet);
    a.store.pause();
    const sent = await publish([b], 'while a stands still');
    await fleet.pass(15, [b]);
    expect([a.messages, all(b), await stored(fleet)]).toEqual([[], [...sent].sort(), 0]);
  });

  test('in flight at a host that stands still come again elsewhere, and it can settle nothing when it goes on', async () => {
    await using fleet = new Fleet();
    const [a, b] = await pair(fleet);
    const ends: (() => void)[] = [];
    a.onMessage = () => new Promise<void>((resolve) => ends.push(resolve));
    const delivered: string[] = [];
    a.sidecar.events.on('messageDelivered', ({ topic }) => delivered.push(topic));
    const sent = await publish([a, b], 'kept');
    await fleet.pass(1);
    const atA = [...a.messages];
    expect(atA.length).toBeGreaterThan(0);
    a.store.pause();
    for (const end of ends) end();
    await new Promise((resolve) => setImmediate(resolve));
    // b keeps them in flight, so that they are still there to be settled.
    const endsAtB: (() => void)[] = [];
    b.onMessage = () => new Promise<void>((resolve) => endsAtB.push(resolve));
    await fleet.pass(15, [b]);
    expect(all(b)).toEqual([...sent].sort());
    expect(await stored(fleet)).toBe(atA.length);
    a.onMessage = () => undefined;
    a.store.resume();
    await new Promise((resolve) => setImmediate(resolve));
    expect(a.store.conflicts.length).toBeGreaterThan(0);
    expect(await stored(fleet)).toBe(atA.length);
    for (const end of endsAtB) end();
    b.onMessage = () => undefined;
    await fleet.pass(20);
    expect([await stored(fleet), a.messages.length, a.logger.at('error')]).toEqual([0, atA.length, []]);
    // What it could not record it has not told of.
    expect(delivered).toEqual([]);
    // It has joined anew and gets its part.
    const before = a.messages.length;
    await publish([b], 'afterwards');
    await fleet.pass(1);
    expect(a.messages.length).toBeGreaterThan(before);
  });

  test('wait for what is in flight when they go to a host that joins', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join();
    await a.subscribe(...TOPICS);
    const ends: (() => void)[] = [];
    a.onMessage = () => new Promise<void>((resolve) => ends.push(resolve));
    const sent = await publish([a], 'in flight');
    const b = await fleet.join();
    await b.subscribe(...TOPICS);
    await fleet.pass(5);
    for (const end of ends) end();
    a.onMessage = () => undefined;
    await fleet.pass(20);
    expect([all(a), b.messages, await stored(fleet)]).toEqual([[...sent].sort(), [], 0]);
    await publish([a], 'afterwards');
    await fleet.pass(1);
    expect(b.messages.length).toBeGreaterThan(0);
  });

  test.each([1, 8])(
    'are done when they are, though a host that had them once fails them late (%d at a time)',
    async (concurrency) => {
      await using fleet = new Fleet();
      const a = await fleet.join({ isApart: true });
      a.concurrency = concurrency;
      await a.subscribe(...TOPICS);
      const fails: (() => void)[] = [];
      a.onMessage = () => new Promise<void>((_, reject) => fails.push(() => reject(new Error('too late'))));
      const sent = await publish([a], 'slow');
      await fleet.pass(1);
      const b = await fleet.join({ isApart: true });
      b.concurrency = concurrency;
      await b.subscribe(...TOPICS);
      await fleet.pass(17);
      expect(b.messages.length).toBeGreaterThan(0);
      const atB = [...b.messages];
      fleet.members.pop();
      a.onMessage = () => undefined;
      await b.stop();
      await fleet.pass(1);
      for (const fail of fails) fail();
      await fleet.pass(40);
      const twice = a.messages.filter((message) => atB.includes(message));
      expect([await stored(fleet), twice.sort()]).toEqual([0, atB.sort()]);
      expect(new Set(a.messages)).toEqual(new Set(sent));
    },
  );

  test.each([
    ['succeeds', 1],
    ['fails', 2],
  ] as const)(
    'that a host lost and got back come to nobody beside its function that still has them: it %s late',
    async (ending, times) => {
      await using fleet = new Fleet();
      const a = await fleet.join();
      await a.subscribe(...TOPICS);
      const ends: ((ending: string) => void)[] = [];
      a.onMessage = () =>
        new Promise<void>((resolve, reject) =>
          ends.push((how) => (how === 'fails' ? reject(new Error('too late')) : resolve())),
        );
      const sent = await publish([a], 'slow');
      await fleet.pass(1);
      // It takes nothing, and leaves again.
      const b = await fleet.join();
      await fleet.pass(20);
      expect(a.logger.lines.length, 'nothing has gone wrong').toBe(0);
      fleet.members.pop();
      await b.stop();
      await fleet.pass(20);
      a.onMessage = () => undefined;
      expect([...a.messages].sort()).toEqual([...sent].sort());
      for (const end of ends) end(ending);
      await fleet.pass(40);
      const runs = TOPICS.map((topic) => a.messages.filter((message) => message.endsWith(` ${topic}`)).length);
      expect([runs, await stored(fleet)]).toEqual([TOPICS.map(() => times), 0]);
    },
  );

  test('keep the delay of a retry when they go to another host', async () => {
    await using fleet = new Fleet();
    const [a, b] = await pair(fleet);
    for (const member of [a, b])
      member.onMessage = () => {
        throw new Error('not now');
      };
    const sent = await publish([a], 'again');
    await fleet.pass(1);
    for (const member of [a, b]) member.onMessage = () => undefined;
    fleet.members.shift();
    const before = all(b).length;
    await a.stop();
    await fleet.pass(40);
    expect([await stored(fleet), new Set(all(b).slice(0)).size, all(b).length > before]).toEqual([
      0,
      sent.length,
      true,
    ]);
  });

  test('publish to a group that another host has just added', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join();
    await a.subscribe('orders');
    const billing = await fleet.join({ appId: 'billing' });
    await a.sidecar.pubsub.publish('pubsub', 'orders', 'before');
    await billing.subscribe('orders');
    await a.sidecar.pubsub.publish('pubsub', 'orders', 'after');
    await fleet.pass(1);
    expect([a.messages, billing.messages]).toEqual([['before', 'after'], ['after']]);
  });
});

function randomOf(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % most;
  };
}

describe('random histories of two hosts with durable topics', () => {
  test.each([7, 8, 9])(
    'deliver each message once while their consumers come and go (seed %d)',
    async (seed) => {
      const random = randomOf(seed);
      await using fleet = new Fleet();
      const members = [await fleet.join(), await fleet.join(), await fleet.join()];
      const leave: ((() => Promise<void>) | undefined)[] = [await members[0]?.subscribe(...TOPICS)];
      const sent: string[] = [];
      for (let step = 0; step < 25; step++) {
        const at = random(3);
        if (leave[at] === undefined) leave[at] = await members[at]?.subscribe(...TOPICS);
        else {
          await leave[at]?.();
          leave[at] = undefined;
        }
        sent.push(...(await publish(members, `step ${step}`)));
        await fleet.pass(random(4));
      }
      leave[1] ??= await members[1]?.subscribe(...TOPICS);
      await fleet.pass(10);
      expect([all(...members), await stored(fleet)]).toEqual([[...sent].sort(), 0]);
    },
    60_000,
  );

  test('lose no message', async () => {
    const random = randomOf(7);
    await using fleet = new Fleet();
    const members = await pair(fleet);
    const sent = new Set<string>();
    let asleep: Member | undefined;
    for (let step = 0; step < 25; step++) {
      const dice = random(6);
      if (dice === 0) {
        asleep?.store.resume();
        asleep = asleep === undefined ? members[random(2)] : undefined;
        asleep?.store.pause();
      }
      const awake = members.filter((member) => member !== asleep);
      for (const message of await publish(awake, `step ${step}`)) sent.add(message);
      await fleet.pass(random(8), awake);
    }
    asleep?.store.resume();
    await fleet.pass(40);
    const seen = new Set(all(...members));
    expect([[...sent].filter((message) => !seen.has(message)), await stored(fleet)]).toEqual([[], 0]);
  }, 60_000);
});

/** A host that publishes and one that subscribes; the first owns about half of the topics. */
async function publisherAndSubscriber(fleet: Fleet): Promise<[Member, Member]> {
  const [publisher, subscriber] = [await fleet.join(), await fleet.join()];
  await subscriber.subscribe(...TOPICS);
  await fleet.pass(4);
  return [publisher, subscriber];
}

const standIns = async ({ memory }: Fleet): Promise<number> =>
  (await memory.scan({ from: 'pubsub!' })).filter(({ key }) => key.includes('!stand-in!')).length;

describe('durable topics whose owner has no consumers', () => {
  test('go to a host that has some, once and at once', async () => {
    await using fleet = new Fleet();
    const [publisher, subscriber] = await publisherAndSubscriber(fleet);
    const sent = await publish([publisher, subscriber], 'sent');
    for (const { clock } of fleet.members) await clock.settled();
    expect(all(subscriber)).toEqual([...sent].sort());
    expect(await stored(fleet)).toBe(0);
    expect(await standIns(fleet)).toBeGreaterThan(0);
  });

  test('go there even when no hint arrives', async () => {
    await using fleet = new Fleet();
    const [publisher, subscriber] = [await fleet.join({ isApart: true }), await fleet.join({ isApart: true })];
    for (const { store } of [publisher, subscriber]) store.losesHints = true;
    await subscriber.subscribe(...TOPICS);
    const sent = await publish([publisher], 'sent');
    await fleet.pass(10);
    expect(all(subscriber)).toEqual([...sent].sort());
  });

  test('go to a host that subscribes later: what waited and what follows', async () => {
    await using fleet = new Fleet();
    const [a, b] = await pair(fleet);
    fleet.members.pop();
    await b.stop();
    const c = await fleet.join();
    await fleet.pass(4);
    fleet.members.shift();
    await a.stop();
    await fleet.pass(2);
    const waiting = await publish([c], 'before anybody subscribes');
    const d = await fleet.join();
    await d.subscribe(...TOPICS);
    await fleet.pass(4);
    const following = await publish([c], 'after');
    await fleet.pass(1);
    expect([all(d), await stored(fleet)]).toEqual([[...waiting, ...following].sort(), 0]);
  });

  test('are shared with the owner when it has consumers, after what is in flight', async () => {
    await using fleet = new Fleet();
    const [a, b] = await publisherAndSubscriber(fleet);
    const ends: (() => void)[] = [];
    b.onMessage = () => new Promise<void>((resolve) => ends.push(resolve));
    const inFlight = await publish([a], 'in flight');
    await fleet.pass(1);
    await a.subscribe(...TOPICS);
    await fleet.pass(5);
    expect([a.messages, all(b)]).toEqual([[], [...inFlight].sort()]);
    b.onMessage = () => undefined;
    for (const end of ends) end();
    await fleet.pass(2);
    expect([a.messages, await stored(fleet)]).toEqual([[], 0]);
    b.messages.length = 0;
    const sent = await publish([b], 'afterwards');
    await fleet.pass(1);
    expect([a.messages.length > 0, b.messages.length > 0, all(a, b)]).toEqual([true, true, [...sent].sort()]);
  });

  test('go back when the host that stands in stops', async () => {
    await using fleet = new Fleet();
    const [a, b] = await publisherAndSubscriber(fleet);
    const c = await fleet.join();
    await c.subscribe(...TOPICS);
    await fleet.pass(4);
    fleet.members.splice(fleet.members.indexOf(b), 1);
    await b.stop();
    await fleet.pass(4);
    const sent = await publish([a], 'after the stop');
    await fleet.pass(1);
    expect([all(c), await stored(fleet)]).toEqual([[...sent].sort(), 0]);
  });

  test('go elsewhere when the host that stands in stands still, and it settles nothing when it goes on', async () => {
    await using fleet = new Fleet();
    const [a, b] = await publisherAndSubscriber(fleet);
    const c = await fleet.join();
    await fleet.pass(4);
    const ends: (() => void)[] = [];
    b.onMessage = () => new Promise<void>((_, reject) => ends.push(() => reject(new Error('too late'))));
    const sent = await publish([a], 'kept');
    await fleet.pass(1);
    expect(all(b)).toEqual([...sent].sort());
    b.store.pause();
    for (const end of ends) end();
    await c.subscribe(...TOPICS);
    await fleet.pass(25, [a, c]);
    expect([all(c), await stored(fleet)]).toEqual([[...sent].sort(), 0]);
    b.onMessage = () => undefined;
    b.store.resume();
    await fleet.pass(30);
    // Its late retries did not bring back what had been settled.
    expect([all(c), await stored(fleet), b.messages.length]).toEqual([[...sent].sort(), 0, sent.length]);
  });

  test('go to another host while the application of the owner is away, and come back with it', async () => {
    await using fleet = new Fleet();
    const discovery = { body: TOPICS.map((topic) => ({ pubsubname: 'pubsub', topic, route: `/${topic}` })) };
    const apps = [0, 1].map(() => new RecordingApp([discovery], () => undefined));
    const treatment = { health: { interval: 1_000, threshold: 1 } };
    for (const { listener } of apps) await fleet.join({ app: { listener, ...treatment } });
    const [one, other] = fleet.members as [Member, Member];
    const sent = (): number[] => apps.map(({ deliveries }) => deliveries.splice(0).length);
    await fleet.pass(4);
    await publish([one, other], 'both are there');
    await fleet.pass(1);
    const before = sent();
    expect([before.every((count) => count > 0), before.reduce((sum, count) => sum + count)]).toEqual([
      true,
      TOPICS.length,
    ]);
    const [away] = apps;
    if (away !== undefined) away.health = { status: 503 };
    await fleet.pass(5);
    await publish([one, other], 'one is away');
    await fleet.pass(1);
    expect(sent()).toEqual([0, TOPICS.length]);
    if (away !== undefined) away.health = {};
    await fleet.pass(5);
    await publish([one, other], 'both are there again');
    await fleet.pass(1);
    const after = sent();
    expect([after.every((count) => count > 0), after.reduce((sum, count) => sum + count)]).toEqual([
      true,
      TOPICS.length,
    ]);
    expect(await stored(fleet)).toBe(0);
  });

  test('wait for nobody in a component that only one host uses', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join();
    await a.subscribe(...TOPICS);
    await fleet.pass(5);
    expect(await standIns(fleet)).toBe(0);
  });
});
