import { describe, expect, test } from 'vitest';
import { Layout } from '../../src/components/durable/layout.ts';
import { durablePubSub, type SubscribeOptions } from '../../src/index.ts';
import { Fleet, type Member } from '../support/fleet.ts';
import { HastyClock } from '../support/hasty-clock.ts';
import { KeptStore } from '../support/kept-store.ts';
import { TestSidecar } from '../support/sidecar.ts';

const { rate: record } = new Layout('pubsub').queue('orders', 'shop');

/** When messages were handed out, in milliseconds. The clocks of a fleet go on one after the other: to the second. */
class Instants {
  readonly of: (readonly [at: Member, instant: number])[] = [];

  async subscribe(at: Member, options: SubscribeOptions): Promise<() => Promise<void>> {
    const take = (): void => void this.of.push([at, at.clock.now()]);
    const subscription = await at.sidecar.pubsub.subscribe('pubsub', 'orders', take, { concurrency: 100, ...options });
    return () => subscription.close();
  }

  /** The most that were handed out in any span. */
  most(perMs: number): number {
    const instants = this.of.map(([, instant]) => instant).sort((one, other) => one - other);
    return Math.max(0, ...instants.map((from) => instants.filter((at) => at >= from && at < from + perMs).length));
  }

  countAt(member: Member): number {
    return this.of.filter(([at]) => at === member).length;
  }
}

async function publish(at: Member, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await at.sidecar.pubsub.publish('pubsub', 'orders', index);
}

/** Two members with a rate; the one that hands out first. */
async function limited(fleet: Fleet, instants: Instants, rate: SubscribeOptions['rate']): Promise<[Member, Member]> {
  const join = (): Promise<Member> => fleet.join({ isApart: true, clock: new HastyClock() });
  const [a, b] = [await join(), await join()];
  await fleet.pass(2);
  for (const member of [a, b]) await instants.subscribe(member, { rate });
  await fleet.pass(3);
  await publish(b, 200);
  await fleet.pass(1);
  return instants.countAt(a) > 0 ? [a, b] : [b, a];
}

describe('a rate whose host changes', () => {
  test.each([
    ['30s', 30_000],
    ['10m', 600_000],
  ] as const)('holds over a graceful stop: 50 in %s', async (per, perMs) => {
    await using fleet = new Fleet();
    const instants = new Instants();
    const [first, second] = await limited(fleet, instants, { max: 50, per });
    expect(instants.of).toHaveLength(50);
    fleet.members.splice(fleet.members.indexOf(first), 1);
    await first.stop();
    await fleet.pass(perMs / 1_000 - 5);
    expect(instants.of).toHaveLength(50);
    await fleet.pass(10);
    expect([instants.countAt(second), instants.most(perMs)]).toEqual([50, 50]);
  });

  test('goes on with what is left of it after a graceful stop', async () => {
    await using fleet = new Fleet();
    const instants = new Instants();
    const [a, b] = [await fleet.join({ isApart: true }), await fleet.join({ isApart: true })];
    await fleet.pass(2);
    const leave = await instants.subscribe(a, { rate: { max: 50, per: '1m' } });
    await publish(b, 30);
    await fleet.pass(1);
    await leave();
    await fleet.pass(3);
    await instants.subscribe(b, { rate: { max: 50, per: '1m' } });
    await publish(b, 100);
    await fleet.pass(3);
    expect([instants.countAt(a), instants.countAt(b)]).toEqual([30, 20]);
  });

  test.each(['dies', 'stands still'])('holds when the host that has it %s', async (what) => {
    await using fleet = new Fleet();
    const instants = new Instants();
    const [first, second] = await limited(fleet, instants, { max: 50, per: '2m' });
    expect(instants.of).toHaveLength(50);
    first.store.pause();
    await fleet.pass(100, [second]);
    expect(instants.of).toHaveLength(50);
    if (what === 'stands still') {
      await fleet.pass(100, [first]);
      first.store.resume();
      await fleet.pass(60);
    } else await fleet.pass(60, [second]);
    expect(instants.most(120_000)).toBe(50);
    expect(instants.of.length).toBeGreaterThan(50);
  });

  test('loses no more than a tenth of a long one when its host dies', async () => {
    await using fleet = new Fleet();
    const instants = new Instants();
    const [a, b] = [await fleet.join({ isApart: true }), await fleet.join({ isApart: true })];
    await fleet.pass(2);
    const rate = { max: 50, per: '1h' } as const;
    await instants.subscribe(a, { rate });
    await publish(b, 22);
    await fleet.pass(2);
    a.store.pause();
    await instants.subscribe(b, { rate });
    await fleet.pass(60, [b]);
    await publish(b, 100);
    await fleet.pass(2, [b]);
    expect(instants.countAt(a)).toBe(22);
    expect(instants.countAt(b)).toBeGreaterThanOrEqual(23);
    expect(instants.countAt(b)).toBeLessThanOrEqual(28);
  });

  test('leaves nothing of a group that is removed', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join();
    const leave = await new Instants().subscribe(a, { rate: { max: 1, per: '1s' } });
    await publish(a, 1);
    await fleet.pass(1);
    expect(await fleet.memory.get(record)).toBeDefined();
    await leave();
    await a.sidecar.pubsub.queues.removeGroup({ pubsubName: 'pubsub', topic: 'orders', group: 'shop' });
    expect(await fleet.memory.get(record)).toBeUndefined();
  });

  test('costs no commit for each message', async () => {
    await using fleet = new Fleet();
    const instants = new Instants();
    const a = await fleet.join();
    await fleet.pass(2);
    await instants.subscribe(a, { rate: { max: 1, per: '1s' } });
    await publish(a, 10);
    await fleet.pass(2);
    const version = (await fleet.memory.get(record))?.version;
    expect(version).toBeDefined();
    await fleet.pass(10);
    expect(instants.of).toHaveLength(10);
    expect((await fleet.memory.get(record))?.version).toBe(version);
  });
});

describe('a rate of a host that is alone', () => {
  test('holds over a restart', async () => {
    const kept = new KeptStore();
    const instants: number[] = [];
    const run = async (startAt?: number): Promise<TestSidecar> => {
      const options = { state: kept, components: [durablePubSub('pubsub')] };
      const world = await new TestSidecar(options).start();
      if (startAt !== undefined) await world.clock.advance(startAt - world.clock.now());
      const take = (): void => void instants.push(world.clock.now());
      await world.sidecar.pubsub.subscribe('pubsub', 'orders', take, { rate: { max: 5, per: '1m' } });
      return world;
    };
    const first = await run();
    for (let index = 0; index < 20; index++) await first.sidecar.pubsub.publish('pubsub', 'orders', index);
    await first.pass('1s');
    expect(instants).toHaveLength(5);
    const stoppedAt = first.clock.now();
    await first.stop();
    await using second = await run(stoppedAt);
    await second.pass('50s');
    expect(instants).toHaveLength(5);
    await second.pass('20s');
    expect(instants).toHaveLength(10);
  });
});
