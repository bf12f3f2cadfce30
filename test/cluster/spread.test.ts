import { describe, expect, test } from 'vitest';
import { Layout } from '../../src/components/durable/layout.ts';
import { Fleet, type Member } from '../support/fleet.ts';
import { Recorder } from '../support/topic-recorder.ts';

const layout = new Layout('pubsub').queue('orders', 'shop');

async function joined(fleet: Fleet, count: number, isApart = false): Promise<Member[]> {
  const members: Member[] = [];
  for (let index = 0; index < count; index++) members.push(await fleet.join({ isApart }));
  await fleet.pass(2);
  return members;
}

const stored = async ({ memory }: Fleet): Promise<number> =>
  (await memory.scan({ from: 'pubsub!' })).filter(({ key }) => /!(ready|delayed)!/.test(key)).length;

describe('a durable topic whose consumers are on several hosts', () => {
  test.each([2, 3, 4])('is shared evenly by %d hosts, each message once', async (count) => {
    await using fleet = new Fleet();
    const members = await joined(fleet, count);
    const recorder = new Recorder();
    for (const member of members) await recorder.subscribe(member);
    await fleet.pass(3);
    for (let round = 0; round < 8; round++) {
      // As many as there are partitions: each gets one, whichever number is the first.
      await recorder.publish(members[round % count] as Member, 64);
      await fleet.pass(1);
    }
    expect([recorder.numbers, await stored(fleet)]).toEqual([recorder.sent, 0]);
    const counts = members.map((member) => recorder.countAt(member));
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThan(1.2);
  });

  test('costs a host that is alone no entry', async () => {
    await using fleet = new Fleet();
    const [alone] = await joined(fleet, 1);
    const recorder = new Recorder();
    await recorder.subscribe(alone as Member);
    await recorder.publish(alone as Member, 5);
    await fleet.pass(3);
    const ofGroup = await fleet.memory.scan({ from: layout.readyPrefix.replace('ready', 'group') });
    expect(ofGroup.filter(({ key }) => /stand-in|consumers/.test(key))).toEqual([]);
    expect(recorder.numbers).toEqual(recorder.sent);
  });

  test('comes to one host if it is ordered', async () => {
    await using fleet = new Fleet();
    const members = await joined(fleet, 3);
    const recorder = new Recorder();
    for (const member of members) await recorder.subscribe(member, { concurrency: 1 });
    await fleet.pass(3);
    await recorder.publish(members[0] as Member, 100);
    await fleet.pass(2);
    expect(recorder.got.map(({ number }) => number)).toEqual(recorder.sent);
    expect(members.filter((member) => recorder.countAt(member) > 0)).toHaveLength(1);
  });

  test('comes to one host from the moment that an ordered subscription begins', async () => {
    await using fleet = new Fleet();
    const members = await joined(fleet, 2);
    const recorder = new Recorder();
    const leave = await recorder.subscribe(members[1] as Member);
    await recorder.subscribe(members[0] as Member);
    await fleet.pass(3);
    await leave();
    await recorder.subscribe(members[1] as Member, { concurrency: 1 });
    await fleet.pass(3);
    await recorder.publish(members[0] as Member, 50);
    await fleet.pass(2);
    expect(recorder.numbers).toEqual(recorder.sent);
    expect(members.filter((member) => recorder.countAt(member) > 0)).toHaveLength(1);
  });

  test('keeps the order of each key while hosts come and go, with retries', async () => {
    await using fleet = new Fleet();
    const members = await joined(fleet, 3);
    const recorder = new Recorder();
    const keys = Array.from({ length: 10 }, (_, index) => `customer-${index}`);
    const failed = new Set<number>();
    recorder.onMessage = ({ number }) => {
      if (number % 17 !== 0 || failed.has(number)) return;
      failed.add(number);
      recorder.got.pop();
      throw new Error('not yet');
    };
    const leave: ((() => Promise<void>) | undefined)[] = [];
    const options = { order: 'key', retry: { delay: '300ms' } } as const;
    for (const [index, at] of [0, 1, 2, 1, 0, 1, 2, 0, 2, 1, 0, 2].entries()) {
      const member = members[at] as Member;
      if (leave[at] === undefined) leave[at] = await recorder.subscribe(member, options);
      else {
        await leave[at]?.();
        leave[at] = undefined;
      }
      await recorder.publish(members[index % 3] as Member, 30, keys);
      await fleet.pass(index % 3);
    }
    leave[0] ??= await recorder.subscribe(members[0] as Member, options);
    await fleet.pass(20);
    expect([recorder.numbers, await stored(fleet)]).toEqual([recorder.sent, 0]);
    expect(recorder.unordered).toEqual([]);
  });

  test('goes on at the others when one is dead, which settles nothing when it comes back', async () => {
    await using fleet = new Fleet();
    const members = await joined(fleet, 3, true);
    const [a, b, c] = members as [Member, Member, Member];
    const recorder = new Recorder();
    for (const member of members) await recorder.subscribe(member);
    await fleet.pass(3);
    const ends: (() => void)[] = [];
    recorder.onMessage = ({ at }) => (at === a ? new Promise<void>((resolve) => ends.push(resolve)) : undefined);
    await recorder.publish(b, 60);
    await fleet.pass(1);
    const inFlight = recorder.got.filter(({ at }) => at === a);
    expect(inFlight.length).toBeGreaterThan(0);
    a.store.pause();
    await fleet.pass(20, [b, c]);
    expect(await stored(fleet)).toBe(0);
    const elsewhere = recorder.got.filter(({ at }) => at !== a);
    expect(elsewhere.map(({ number }) => number).sort((one, other) => one - other)).toEqual(recorder.sent);
    // It knows by its own clock that others consider it dead.
    await fleet.pass(15, [a]);
    for (const end of ends) end();
    recorder.onMessage = () => undefined;
    a.store.resume();
    await fleet.pass(20);
    expect([recorder.got.length, await stored(fleet)]).toEqual([recorder.sent.length + inFlight.length, 0]);
    const before = recorder.countAt(a);
    await recorder.publish(b, 60);
    await fleet.pass(2);
    expect(recorder.countAt(a)).toBeGreaterThan(before);
  });

  test('goes to an owner of an earlier release that asks for it, after what is in flight', async () => {
    await using fleet = new Fleet();
    const members = await joined(fleet, 2);
    const recorder = new Recorder();
    for (const member of members) await recorder.subscribe(member);
    await fleet.pass(3);
    const ends: (() => void)[] = [];
    recorder.onMessage = () => new Promise<void>((resolve) => ends.push(resolve));
    await recorder.publish(members[0] as Member, 10);
    await fleet.pass(1);
    // Such an owner writes this, and hands messages out when the stand-in is gone.
    const recalled = await fleet.memory.get(layout.delegate);
    expect(recalled).toBeDefined();
    await fleet.memory.commit({ put: [{ key: layout.recall, value: Buffer.from('\u0001{}') }] });
    await fleet.pass(2);
    expect((await fleet.memory.get(layout.delegate))?.version).toBeGreaterThanOrEqual(recalled?.version ?? 0);
    for (const end of ends) end();
    recorder.onMessage = () => undefined;
    await expect
      .poll(async () => {
        await fleet.pass(1);
        return fleet.memory.get(layout.recall);
      })
      .toBeUndefined();
    expect([recorder.numbers, await stored(fleet)]).toEqual([recorder.sent, 0]);
    await recorder.publish(members[0] as Member, 10);
    await fleet.pass(3);
    expect([recorder.numbers, await stored(fleet)]).toEqual([recorder.sent, 0]);
  });

  test('leaves nothing of hosts that have stopped', async () => {
    await using fleet = new Fleet();
    const members = await joined(fleet, 3);
    const recorder = new Recorder();
    for (const member of members) await recorder.subscribe(member);
    await fleet.pass(3);
    for (const member of fleet.members.splice(1)) await member.stop();
    await recorder.publish(members[0] as Member, 20);
    await fleet.pass(3);
    expect([recorder.numbers, await stored(fleet)]).toEqual([recorder.sent, 0]);
    const entries = await fleet.memory.scan(layout.consumersRange);
    expect(entries).toHaveLength(1);
  });
});
