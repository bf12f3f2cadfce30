import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { defineJob, durablePubSub, memoryPubSub, memoryState, Sidecar, sharedState } from '../../src/index.ts';
import type { StateDefinition } from '../../src/kit/index.ts';
import { patientClock } from '../support/clock.ts';
import { Fleet, type Member } from '../support/fleet.ts';
import { KeptStore } from '../support/kept-store.ts';
import { RecordingLogger } from '../support/logger.ts';

/** The function of all sidecars: what is `slow` stays at work until it is told to end. */
class AtWork {
  readonly begun: string[] = [];
  readonly ends = new Map<string, (error?: Error) => void>();
  readonly #running = new Map<string, number>();
  /** The most that were ever at work for one job or message. */
  most = 0;

  readonly run = async (name: string): Promise<void> => {
    this.begun.push(name);
    const running = (this.#running.get(name) ?? 0) + 1;
    this.#running.set(name, running);
    this.most = Math.max(this.most, running);
    try {
      if (name.startsWith('slow') && this.times(name) === 1)
        await new Promise<void>((resolve, reject) =>
          this.ends.set(name, (error) => (error === undefined ? resolve() : reject(error))),
        );
    } finally {
      this.#running.set(name, (this.#running.get(name) ?? 1) - 1);
    }
  };

  times(name: string): number {
    return this.begun.filter((one) => one === name).length;
  }

  isOf(member: Member): void {
    member.onRun = ({ name }) => this.run(name);
    member.onMessage = (message) => this.run(message);
  }

  endAll(error?: Error): void {
    for (const end of this.ends.values()) end(error);
  }
}

/** So many that each of two hosts has more than two of them, whatever their IDs are. */
const SLOW = Array.from({ length: 40 }, (_, index) => `slow-${index}`);
const QUICK = SLOW.map((name) => name.replace('slow', 'quick'));
const times = (atWork: AtWork, names: readonly string[]): readonly number[] => names.map((name) => atWork.times(name));
const each = (names: readonly string[], many: number): readonly number[] => names.map(() => many);
const messagesIn = async ({ memory }: Fleet): Promise<number> =>
  (await memory.scan({ from: 'pubsub!' })).filter(({ key }) => /!(ready|delayed)!/.test(key)).length;
const jobsIn = async ({ memory }: Fleet): Promise<number> => (await memory.scan({ from: 'jobs!', to: 'jobs"' })).length;

describe('a function that is at work when its shard goes to another sidecar of the process', () => {
  test.each([
    ['returns', undefined],
    ['fails', new Error('too late')],
  ])('has no second run of the job beside it, whose others go on: it %s late', async (_, error) => {
    await using fleet = new Fleet();
    const atWork = new AtWork();
    const a = await fleet.join();
    atWork.isOf(a);
    for (const name of SLOW) await a.sidecar.jobs.schedule(name, { dueTime: '1s' });
    for (const name of QUICK) await a.sidecar.jobs.schedule(name, { dueTime: '25s' });
    await fleet.pass(2);
    const b = await fleet.join();
    atWork.isOf(b);
    await fleet.pass(40);
    const waiting = b.logger.at('warn').filter(({ message }) => message.startsWith('a job waits')).length;
    expect(waiting).toBeGreaterThan(2);
    expect([b.runs.every((run) => run.startsWith('quick')), b.runs.length > 2]).toEqual([true, true]);
    expect([times(atWork, SLOW), times(atWork, QUICK), atWork.most]).toEqual([each(SLOW, 1), each(QUICK, 1), 1]);
    atWork.endAll(error);
    await fleet.pass(10);
    expect(atWork.begun.filter((name) => name.startsWith('slow')).length).toBe(
      error === undefined ? SLOW.length + waiting : SLOW.length * 2,
    );
    expect([atWork.most, await jobsIn(fleet), b.logger.at('error')]).toEqual([1, 0, []]);
  });

  test('has no run of the job beside it or after it when that is deleted meanwhile, and one of what replaced it', async () => {
    await using fleet = new Fleet();
    const atWork = new AtWork();
    const a = await fleet.join();
    atWork.isOf(a);
    for (const name of SLOW) await a.sidecar.jobs.schedule(name, { dueTime: '1s' });
    await fleet.pass(2);
    const b = await fleet.join();
    atWork.isOf(b);
    await fleet.pass(20);
    for (const [index, name] of SLOW.entries()) {
      if (index % 2 === 0) await b.sidecar.jobs.delete(name);
      else await b.sidecar.jobs.schedule(name, { dueTime: '1s', ifExists: 'replace' });
    }
    await fleet.pass(20);
    expect(times(atWork, SLOW)).toEqual(each(SLOW, 1));
    atWork.endAll();
    await fleet.pass(10);
    expect(times(atWork, SLOW)).toEqual(SLOW.map((_, index) => (index % 2 === 0 ? 1 : 2)));
    expect([atWork.most, await jobsIn(fleet)]).toEqual([1, 0]);
  });

  test('has nobody take its message beside it, and the others of the group go on', async () => {
    await using fleet = new Fleet();
    const atWork = new AtWork();
    const a = await fleet.join();
    atWork.isOf(a);
    await a.subscribe(...SLOW);
    const slow = SLOW.flatMap((name) => [name, `${name} too`]);
    for (const name of slow) await a.sidecar.pubsub.publish('pubsub', name.replace(' too', ''), name);
    await fleet.pass(2);
    const b = await fleet.join();
    atWork.isOf(b);
    // As many wait for each topic as come at a time: those take no place.
    b.concurrency = 2;
    await b.subscribe(...SLOW);
    await fleet.pass(20);
    for (const [index, name] of SLOW.entries()) await a.sidecar.pubsub.publish('pubsub', name, QUICK[index] ?? '');
    await fleet.pass(5);
    expect([b.messages.every((message) => message.startsWith('quick')), b.messages.length > 2]).toEqual([true, true]);
    expect([times(atWork, slow), times(atWork, QUICK)]).toEqual([each(slow, 1), each(QUICK, 1)]);
    atWork.endAll();
    await fleet.pass(5);
    // Those whose partitions have gone to the other host come once more there; the others are settled where they began.
    const again = slow.filter((name) => atWork.times(name) > 1).length;
    expect([again > 0, again < slow.length, Math.max(...times(atWork, slow))]).toEqual([true, true, 2]);
    expect([atWork.most, await messagesIn(fleet)]).toEqual([1, 0]);
  });

  test('keeps all messages behind its own waiting where they come one at a time', async () => {
    await using fleet = new Fleet();
    const atWork = new AtWork();
    const a = await fleet.join();
    atWork.isOf(a);
    a.concurrency = 1;
    await a.subscribe(...SLOW);
    for (const name of SLOW) await a.sidecar.pubsub.publish('pubsub', name, name);
    await fleet.pass(2);
    const b = await fleet.join();
    atWork.isOf(b);
    b.concurrency = 1;
    await b.subscribe(...SLOW);
    await fleet.pass(20);
    for (const [index, name] of SLOW.entries()) await a.sidecar.pubsub.publish('pubsub', name, QUICK[index] ?? '');
    await fleet.pass(5);
    expect(b.messages).toEqual([]);
    atWork.endAll();
    await fleet.pass(5);
    const order = SLOW.map((name, index) => b.messages.filter((one) => one === name || one === QUICK[index]));
    expect(order.filter((messages) => messages.length > 0)).toEqual(
      SLOW.flatMap((name, index) => (b.messages.includes(name) ? [[name, QUICK[index]]] : [])),
    );
    expect([b.messages.length > 2, atWork.most, await messagesIn(fleet)]).toEqual([true, 1, 0]);
    expect(new Set(atWork.begun)).toEqual(new Set([...SLOW, ...QUICK]));
  });

  test('has its job not begun beside it by the former owner, which had it in hand and was slow to read its data', async () => {
    await using fleet = new Fleet();
    const atWork = new AtWork();
    const a = await fleet.join();
    atWork.isOf(a);
    for (const name of SLOW) await a.sidecar.jobs.schedule(name, { dueTime: '1s', data: 'x'.repeat(100_000) });
    const { get } = a.store;
    let goOn = (): void => undefined;
    const blocked = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    a.store.get = (key) => blocked.then(() => get.call(a.store, key));
    await fleet.pass(2);
    const b = await fleet.join();
    atWork.isOf(b);
    await fleet.pass(20);
    const atB = b.runs.length;
    expect([atB > 2, a.runs]).toEqual([true, []]);
    goOn();
    await fleet.pass(5);
    expect([a.runs.length, atWork.most]).toEqual([SLOW.length - atB, 1]);
    atWork.endAll();
    await fleet.pass(5);
    expect([times(atWork, SLOW), await jobsIn(fleet)]).toEqual([each(SLOW, 1), 0]);
  });

  test('runs beside it when it is in another process: there the fence decides', async () => {
    await using fleet = new Fleet();
    const atWork = new AtWork();
    const a = await fleet.join({ isApart: true });
    atWork.isOf(a);
    for (const name of SLOW) await a.sidecar.jobs.schedule(name, { dueTime: '1s' });
    await fleet.pass(2);
    const b = await fleet.join({ isApart: true });
    atWork.isOf(b);
    await fleet.pass(25);
    expect([b.runs.length > 2, atWork.most]).toEqual([true, 2]);
    atWork.endAll();
  });
});

describe('a function that a stop has given up on', () => {
  test.each(['one shared state', 'one directory'])(
    'has nothing begun beside it by the next sidecar: %s',
    async (kind) => {
      const path = await mkdtemp(join(tmpdir(), 'insidecar-at-work-'));
      const shared = sharedState(new KeptStore());
      const state = (): StateDefinition => (kind === 'one directory' ? embeddedState({ path }) : shared);
      const atWork = new AtWork();
      const startAt = Date.parse('2026-01-01T00:00:00Z');
      const start = async (clock = patientClock({ startAt })) => {
        const components = [durablePubSub('pubsub')];
        const logger = new RecordingLogger();
        const sidecar = new Sidecar({ appId: 'shop', clock, logger, state: state(), components, stopTimeout: 2_000 });
        sidecar.register(defineJob('*', (_, { name }) => atWork.run(name)));
        await sidecar.start();
        await sidecar.pubsub.subscribe<string>('pubsub', 'orders', ({ data = '' }) => atWork.run(data));
        return { sidecar, clock, logger };
      };
      const a = await start();
      await a.sidecar.jobs.schedule('slow job', { schedule: '@every 1h', dueTime: '1s' });
      await a.sidecar.pubsub.publish('pubsub', 'orders', 'slow message');
      await a.clock.advance('2s');
      expect(times(atWork, ['slow job', 'slow message'])).toEqual([1, 1]);
      const stopped = a.sidecar.stop();
      await a.clock.advance('10s');
      await stopped;
      const b = await start(patientClock({ startAt: a.clock.now() }));
      await b.sidecar.jobs.schedule('quick job', { dueTime: '1s' });
      await b.sidecar.pubsub.publish('pubsub', 'orders', 'quick message');
      await b.clock.advance('30s');
      const all = ['slow job', 'slow message', 'quick job', 'quick message'];
      expect(times(atWork, all)).toEqual([1, 1, 1, 1]);
      atWork.endAll();
      await new Promise((resolve) => setImmediate(resolve));
      await b.clock.advance('1s');
      expect([times(atWork, all), atWork.most]).toEqual([[2, 2, 1, 1], 1]);
      const stoppedToo = b.sidecar.stop();
      await b.clock.advance('10s');
      await stoppedToo;
      expect(b.logger.at('error')).toEqual([]);
      await rm(path, { recursive: true, force: true });
    },
  );

  test('has its message of a component in memory not taken beside it by another sidecar, which can stop meanwhile', async () => {
    const atWork = new AtWork();
    const clock = patientClock();
    const state = sharedState(memoryState());
    const components = [memoryPubSub('pubsub')];
    const start = async (logger = new RecordingLogger()): Promise<Sidecar> => {
      const sidecar = new Sidecar({ appId: 'shop', clock, logger, state, components, stopTimeout: 2_000 });
      await sidecar.start();
      await sidecar.pubsub.subscribe<string>('pubsub', 'orders', ({ data = '' }) => atWork.run(data));
      return sidecar;
    };
    const a = await start();
    await a.pubsub.publish('pubsub', 'orders', 'slow message');
    await clock.advance('1s');
    const logger = new RecordingLogger();
    const b = await start(logger);
    const stopped = a.stop();
    await clock.advance('10s');
    await stopped;
    await b.pubsub.publish('pubsub', 'orders', 'quick message');
    await clock.advance('1s');
    expect(times(atWork, ['slow message', 'quick message'])).toEqual([1, 1]);
    // It has the message, and gives it back.
    const c = await start();
    await b.stop();
    expect(logger.at('error'), 'it has not been waited for').toEqual([]);
    await clock.advance('1s');
    expect(times(atWork, ['slow message'])).toEqual([1]);
    atWork.endAll();
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance('1s');
    expect([times(atWork, ['slow message']), atWork.most]).toEqual([[2], 1]);
    await c.stop();
  });
});
