import { describe, expect, test } from 'vitest';
import { HostStore } from '../../src/cluster/host-store.ts';
import { localHostsOf } from '../../src/cluster/local-hosts.ts';
import { MemoryStore } from '../../src/components/memory/memory-store.ts';
import { defineWorkflow, memoryState, sharedState } from '../../src/index.ts';
import { patientClock } from '../support/clock.ts';
import { Fleet, type Member } from '../support/fleet.ts';
import { RecordingLogger } from '../support/logger.ts';

const NAMES = Array.from({ length: 60 }, (_, index) => `job-${index}`);
const namesOf = (runs: readonly string[]): string[] => runs.map((run) => run.split(' ')[0] ?? '').sort();
const put = (key: string): { key: string; value: Uint8Array } => ({ key, value: new Uint8Array(1) });

const together = { isApart: true, hints: 'all' } as const;

async function twoWithHints(fleet: Fleet): Promise<[Member, Member]> {
  const members: [Member, Member] = [await fleet.join(together), await fleet.join(together)];
  for (const member of members) {
    register(member);
    await member.subscribe('orders');
  }
  await fleet.pass(6);
  return members;
}

const total = (member: Member): number => {
  const { gets, scans, commits } = member.store.takeCalls();
  return gets + scans + commits;
};

/** In steps so short that a host hears of the others in time. */
async function passTogether({ members }: Fleet, seconds: number): Promise<void> {
  for (let step = 0; step < seconds * 20; step++) for (const { clock } of members) await clock.advance(50);
}

function register(member: Member): void {
  member.sidecar.workflows.register(defineWorkflow('echo', async (_ctx, text: string) => text));
}

describe('hints of changes', () => {
  test('are told to the other hosts of a store, not to the one that has made them', async () => {
    const logger = new RecordingLogger();
    const store = new MemoryStore({ clock: patientClock(), logger });
    const join = (): HostStore => new HostStore(store, localHostsOf(store), { logger });
    const [a, b] = [join(), join()];
    const told: string[] = [];
    a.watch('job/', (keys) => told.push(...keys.map((key) => `a: ${key}`)));
    b.watch('job/', (keys) => told.push(...keys.map((key) => `b: ${key}`)));
    await Promise.all([
      a.commit({ put: [put('job/1')] }),
      a.commit({ put: [put('job/2'), put('other')] }),
      b.commit({ put: [put('job/3')], delete: ['job/1'] }),
    ]);
    await store.commit({ put: [put('job/4')] });
    await Promise.resolve();
    expect(told.sort()).toEqual(['a: job/1', 'a: job/3', 'a: job/4', 'b: job/1', 'b: job/2', 'b: job/4']);
  });

  test('pass between the sidecars of one process that share a store', async () => {
    const state = sharedState(memoryState());
    const context = { clock: patientClock(), logger: new RecordingLogger() };
    const [a, b] = [await state.open(context), await state.open(context)];
    const atA = new HostStore(a, localHostsOf(a), context);
    const atB = new HostStore(b, localHostsOf(b), context);
    const told: string[] = [];
    atA.watch('', (keys) => told.push(...keys));
    await atA.commit({ put: [put('own')] });
    await atB.commit({ put: [put('of the other')] });
    await Promise.resolve();
    expect(told).toEqual(['of the other']);
    await Promise.all([a.close(), b.close()]);
  });
});

describe('one host alone, on a store that others may have open', () => {
  test('schedules and runs jobs with commits only', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join({ isApart: true });
    a.store.takeCalls();
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { schedule: '@every 10ms', repeats: 3 });
    await a.clock.advance(100);
    const { gets, scans } = a.store.takeCalls();
    expect([a.runs.length, gets, scans]).toEqual([3 * NAMES.length, 0, 0]);
  });

  test('publishes and delivers without a scan per message', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join({ isApart: true });
    await a.subscribe('orders');
    await a.sidecar.pubsub.publish('pubsub', 'orders', 'the first');
    await a.clock.settled();
    a.store.takeCalls();
    for (const name of NAMES) await a.sidecar.pubsub.publish('pubsub', 'orders', name);
    await a.clock.settled();
    const { gets, scans } = a.store.takeCalls();
    expect([a.messages.length, gets, scans]).toEqual([NAMES.length + 1, 0, 0]);
  });

  test('looks at jobs before it runs them as soon as another host is there', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join({ isApart: true });
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { dueTime: '20s' });
    const b = await fleet.join({ isApart: true });
    a.store.losesHints = true;
    await fleet.pass(10);
    for (const name of NAMES) await b.sidecar.jobs.delete(name);
    await fleet.pass(15);
    expect([a.runs, b.runs]).toEqual([[], []]);
  });
});

describe('two hosts of one app ID', () => {
  test('look at all jobs that are due together', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join({ isApart: true }), await fleet.join({ isApart: true })];
    await fleet.pass(5);
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { dueTime: '500ms' });
    for (const { clock } of [a, b]) await clock.settled();
    for (const { store } of [a, b]) store.takeCalls();
    for (const { clock } of [a, b]) await clock.advance(600);
    expect(namesOf([...a.runs, ...b.runs])).toEqual([...NAMES].sort());
    expect([a.store.takeCalls().scans, b.store.takeCalls().scans]).toEqual([1, 1]);
  });

  test('run what was put in the place of a job, and nothing that was removed, though no hint came', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join({ isApart: true }), await fleet.join({ isApart: true })];
    await fleet.pass(5);
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { dueTime: '5s' });
    await fleet.pass(1);
    for (const { store } of [a, b]) store.losesHints = true;
    for (const name of NAMES.slice(0, 30)) await b.sidecar.jobs.delete(name);
    for (const name of NAMES.slice(30)) await a.sidecar.jobs.schedule(name, { dueTime: '10s', ifExists: 'replace' });
    await fleet.pass(8);
    expect([a.runs, b.runs]).toEqual([[], []]);
    await fleet.pass(30);
    expect(namesOf([...a.runs, ...b.runs])).toEqual(NAMES.slice(30).sort());
  });

  test('start workflows of new IDs without a read, and refuse those whose ID is in use', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join({ isApart: true }), await fleet.join({ isApart: true })];
    register(a);
    register(b);
    await fleet.pass(5);
    b.store.pause();
    a.store.takeCalls();
    const ids = NAMES.map((text) => `flow-${text}`);
    await Promise.all(NAMES.map((text) => a.sidecar.workflows.start('echo', text, { instanceId: `flow-${text}` })));
    const { gets, scans } = a.store.takeCalls();
    expect([gets, scans]).toEqual([0, 0]);
    const startAgain = (): Promise<unknown>[] =>
      ids.map((instanceId) => a.sidecar.workflows.start('echo', 'again', { instanceId, ifExists: 'replace' }));
    const refused = (await Promise.allSettled(startAgain())).filter(({ status }) => status === 'rejected').length;
    expect(refused).toBeGreaterThan(15);
    b.store.resume();
    await fleet.pass(2);
    // Those that are over may be started once more.
    await Promise.all(startAgain());
    await fleet.pass(2);
    const outputs = await Promise.all(ids.map(async (id) => (await b.sidecar.workflows.get(id))?.output));
    expect(outputs).toEqual(ids.map(() => 'again'));
  });
});

describe('a host with nothing to do, on a store that tells of the changes of other processes', () => {
  test('asks the store at most once in two seconds when it is alone', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join(together);
    register(a);
    await a.subscribe('orders');
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { dueTime: '24h' });
    await fleet.pass(20);
    a.store.takeCalls();
    await fleet.pass(60);
    expect(total(a)).toBeLessThanOrEqual(30);
    expect(total(a)).toBe(0);
  });

  test.each([2, 4])('asks the store at most once in two seconds when there are %d', async (count) => {
    await using fleet = new Fleet();
    for (let index = 0; index < count; index++) {
      const member = await fleet.join(together);
      register(member);
      await member.subscribe('orders');
      // Their clocks differ, and so do the times at which they renew their records at first.
      await member.clock.advance(index * 900);
      await fleet.pass(1);
    }
    await passTogether(fleet, 30);
    for (const { store } of fleet.members) store.takeCalls();
    await passTogether(fleet, 60);
    const totals = fleet.members.map(total);
    expect(Math.max(...totals)).toBeLessThanOrEqual(30);
    // They renew their records and look at those of the others.
    expect(Math.min(...totals)).toBeGreaterThanOrEqual(20);
  });

  test('asks every second where the store tells of own changes only', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join({ isApart: true });
    await a.subscribe('orders');
    await fleet.pass(20);
    a.store.takeCalls();
    await fleet.pass(60);
    expect(total(a)).toBeGreaterThan(60);
  });

  test('notices within 35 s that another has joined, though no hint came', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join(together);
    await fleet.pass(20);
    a.store.losesHints = true;
    const b = await fleet.join(together);
    await fleet.pass(35);
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { dueTime: '16s' });
    await fleet.pass(40);
    expect(namesOf([...a.runs, ...b.runs])).toEqual([...NAMES].sort());
    expect(b.runs.length).toBeGreaterThan(15);
  });

  test('notices another that has joined as soon as its shards are asked for, though its hosts were read before', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join(together);
    await fleet.pass(20);
    a.store.losesHints = true;
    const b = await fleet.join(together);
    await a.sidecar.placement.hosts();
    a.store.losesHints = false;
    const shardsOfB = async (): Promise<number> =>
      (await b.sidecar.placement.hosts()).find(({ isSelf }) => isSelf)?.shards.length ?? 0;
    let seconds = 0;
    for (; (await shardsOfB()) === 0 && seconds < 30; seconds++) {
      await fleet.pass(1);
      await a.sidecar.placement.hosts();
    }
    expect(seconds).toBeLessThanOrEqual(6);
  });

  test.each([0, 1, 2, 3, 4])('takes the work of another over within 11 s of its death (phase %d)', async (phase) => {
    await using fleet = new Fleet();
    const a = await fleet.join(together);
    const [record] = await fleet.memory.scan({ from: 'hosts!host!', to: 'hosts!host"' });
    const versionOfA = async (): Promise<unknown> => (await fleet.memory.get(record?.key ?? ''))?.version;
    await passTogether(fleet, phase);
    const b = await fleet.join(together);
    // Their clocks never agree.
    await b.clock.advance(300);
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { schedule: '@every 1s' });
    await passTogether(fleet, 20);
    // At the worst moment, right after it has renewed its record.
    const version = await versionOfA();
    while ((await versionOfA()) === version) await passTogether(fleet, 0.05);
    a.store.pause();
    const done = (): boolean => new Set(namesOf(b.runs)).size === NAMES.length;
    b.runs.length = 0;
    let seconds = 0;
    for (; !done() && seconds < 30; seconds++) await fleet.pass(1, [b]);
    expect(seconds).toBeLessThanOrEqual(11);
  });

  test('keeps its work while it renews its lease without reading', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join(together);
    await a.sidecar.jobs.schedule('tick', { schedule: '@every 30s', repeats: 20 });
    await fleet.pass(300);
    expect([a.runs.length, a.logger.at('warn'), a.logger.at('error')]).toEqual([10, [], []]);
  });

  test('joins anew when its record is gone, which the renewal tells', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join(together);
    await fleet.pass(20);
    a.store.losesHints = true;
    const records = await fleet.memory.scan({ from: 'hosts!host!', to: 'hosts!host"' });
    await fleet.memory.commit({ delete: records.map(({ key }) => key) });
    await fleet.pass(6);
    await a.sidecar.jobs.schedule('after', { dueTime: '0s' });
    await fleet.pass(1);
    expect([a.logger.at('warn').length, namesOf(a.runs)]).toEqual([1, ['after']]);
  });
});

describe('a host that was still while another came and went', () => {
  const changes: readonly [what: string, change: (member: Member) => Promise<unknown>][] = [
    ['paused', ({ sidecar }) => sidecar.jobs.pause('report')],
    ['deleted', ({ sidecar }) => sidecar.jobs.delete('report')],
    ['replaced', ({ sidecar }) => sidecar.jobs.schedule('report', { dueTime: '1h', ifExists: 'replace' })],
  ];

  test.each(changes)('does not run at its old time a job that the other has %s', async (_what, change) => {
    await using fleet = new Fleet();
    const a = await fleet.join(together);
    await a.sidecar.jobs.schedule('report', { dueTime: '20s' });
    await fleet.pass(6);
    a.store.pause();
    const b = await fleet.join(together);
    await change(b);
    fleet.members.pop();
    await b.stop();
    a.store.resume();
    await a.clock.settled();
    await fleet.pass(30);
    expect(a.runs).toEqual([]);
  });

  test('runs a job at the earlier time that the other has given it', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join(together);
    await a.sidecar.jobs.schedule('report', { dueTime: '1h' });
    await fleet.pass(6);
    a.store.pause();
    const b = await fleet.join(together);
    await b.sidecar.jobs.schedule('report', { dueTime: '10s', ifExists: 'replace' });
    fleet.members.pop();
    await b.stop();
    a.store.resume();
    await a.clock.settled();
    await fleet.pass(15);
    expect(namesOf(a.runs)).toEqual(['report']);
  });
});

describe('two hosts whose store loses every hint', () => {
  async function deaf(fleet: Fleet): Promise<[Member, Member]> {
    const members = await twoWithHints(fleet);
    for (const { store } of members) store.losesHints = true;
    return members;
  }

  test('run jobs that the other has scheduled', async () => {
    await using fleet = new Fleet();
    const [a, b] = await deaf(fleet);
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { dueTime: '0s' });
    await fleet.pass(61);
    expect(namesOf([...a.runs, ...b.runs])).toEqual([...NAMES].sort());
  });

  test('deliver messages that the other has published, whatever was published meanwhile', async () => {
    await using fleet = new Fleet();
    const [a, b] = await deaf(fleet);
    const sent: string[] = [];
    for (let round = 0; round < 40; round++) {
      for (const member of [a, b]) {
        sent.push(`message ${sent.length}`);
        await member.sidecar.pubsub.publish('pubsub', 'orders', sent.at(-1));
      }
      await fleet.pass(2);
    }
    await fleet.pass(61);
    expect([...a.messages, ...b.messages].sort()).toEqual(sent.sort());
  });

  test('run workflows that the other has started, and hear of their end', async () => {
    await using fleet = new Fleet();
    const [a, b] = await deaf(fleet);
    const runs = await Promise.all(
      NAMES.map((text) => a.sidecar.workflows.start('echo', text, { instanceId: `flow-${text}` })),
    );
    const ends = runs.map((run) => run.result());
    await fleet.pass(130);
    const outputs = await Promise.all(ends);
    expect([outputs, b.logger.at('error')]).toEqual([NAMES, []]);
  });

  test('read one entry per look for each who waits', async () => {
    await using fleet = new Fleet();
    const [a, b] = await deaf(fleet);
    const never = defineWorkflow('never', (ctx) => ctx.waitForEvent('go'));
    for (const { sidecar } of [a, b]) sidecar.workflows.register(never);
    const runs = await Promise.all(
      NAMES.map((instanceId) => a.sidecar.workflows.start('never', undefined, { instanceId })),
    );
    await fleet.pass(20);
    const waits = Promise.allSettled(runs.map((run) => run.ended({ timeout: 120_000 })));
    await a.clock.settled();
    a.store.takeCalls();
    await fleet.pass(60);
    const { gets } = a.store.takeCalls();
    expect(gets).toBeGreaterThan(10);
    expect(gets).toBeLessThanOrEqual(NAMES.length);
    await fleet.pass(60);
    await waits;
  });
});
