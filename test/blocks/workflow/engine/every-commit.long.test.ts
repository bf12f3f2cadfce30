import { expect, test } from 'vitest';
import { defineActivity, defineWorkflow, Sidecar, type WorkflowHistoryEvent } from '../../../../src/index.ts';
import { patientClock } from '../../../support/clock.ts';
import { KeptStore } from '../../../support/kept-store.ts';
import { RecordingLogger } from '../../../support/logger.ts';

/*
 * A workflow with all that there is, and one commit of it that goes wrong: each of them in turn, in each way. What the
 * workflow comes to has to be the same, and every result has to be in the history once.
 */

const add = defineActivity('add', async ([a, b]: readonly [number, number]) => a + b);
const flaky = defineActivity('flaky', async (text: string, { attempt }) => {
  if (attempt < 3) throw new TypeError(`attempt ${attempt}`);
  return text;
});
const leaf = defineWorkflow('leaf', async (ctx, input: number) => {
  await ctx.sleep('1s');
  if (input === 3) throw new Error('three');
  return ctx.callActivity(add, [input, 100]);
});
const endless = defineWorkflow('endless', async (ctx) => {
  await ctx.callChild('waiting', undefined, { instanceId: 'deepest' });
});
const waiting = defineWorkflow('waiting', (ctx) => ctx.waitForEvent('never'));
const rich = defineWorkflow('rich', async (ctx, round: number) => {
  let sum = await ctx.callActivity(add, [round, 1]);
  sum += await ctx.callActivity(add, [sum, 1]);
  const fan = await Promise.all([1, 2, 3, 4].map((value) => ctx.callActivity(add, [value, 10])));
  const tried = await ctx.callActivity(flaky, 'flaky', { retry: { maxRetries: 3, delay: 100 } });
  const leaves = await Promise.allSettled([1, 2, 3].map((value) => ctx.callChild(leaf, value)));
  const events = new Set<string>();
  while (!events.has(`c${round}`)) {
    const event = await ctx.waitForEvent<string>('EVENT');
    // Those that a client has repeated may come too late for the first round.
    if (event.endsWith(`${round}`)) events.add(event);
  }
  const late = await ctx.waitForEvent('never', { timeout: 500 }).catch((error: Error) => error.name);
  void ctx.callActivity(add, [7, 7]);
  if (round === 1) {
    await ctx.sleep('2s');
    return ctx.continueAsNew(2);
  }
  return [sum, fan, tried, leaves.map(({ status }) => status), [...events], late, ctx.isPatched('p')];
});

type Way = 'refused' | 'lost' | 'crash before' | 'crash after';

class Disturbed {
  /** Each life has one of its own: what has died stands still. */
  clock = patientClock();
  readonly store = new KeptStore();
  readonly #way: Way;
  readonly #at: number;
  commits = 0;
  isDown = false;
  sidecar: Sidecar;

  constructor(way: Way, at: number) {
    this.#way = way;
    this.#at = at;
    this.store.interfere = (batch, commit) => {
      const isOurs = batch.put?.some(({ key }) => key.startsWith('workflows!')) === true;
      if (!isOurs || ++this.commits !== this.#at) return commit();
      return this.#goWrong(commit);
    };
    this.sidecar = this.#make();
  }

  #make(): Sidecar {
    const { clock, store } = this;
    let isAlive = true;
    const state = {
      type: 'kept',
      open: async () => {
        const open = await store.open();
        const never = new Promise<never>(() => undefined);
        this.kill = () => {
          isAlive = false;
        };
        return {
          ...open,
          get: (key: string) => (isAlive ? open.get(key) : never),
          scan: (scan: Parameters<typeof open.scan>[0]) => (isAlive ? open.scan(scan) : never),
          commit: async (batch: Parameters<typeof open.commit>[0]) => {
            if (!isAlive) return never;
            const version = await open.commit(batch);
            return isAlive ? version : never;
          },
          watch: open.watch,
        };
      },
    };
    const sidecar = new Sidecar({ appId: 'shop', clock, state, logger: new RecordingLogger() });
    sidecar.workflows.register(add, flaky, leaf, endless, waiting, rich);
    return sidecar;
  }

  kill: () => void = () => undefined;

  async #goWrong(commit: () => Promise<number>): Promise<number> {
    if (this.#way === 'refused') throw new Error('the disk is full');
    if (this.#way !== 'crash before') await commit();
    if (this.#way === 'lost') throw new Error('the connection was lost after the commit');
    this.kill();
    this.isDown = true;
    return 0;
  }

  /** Another process after a crash. */
  async #revive(): Promise<void> {
    if (!this.isDown) return;
    this.isDown = false;
    this.clock = patientClock({ startAt: this.clock.now() });
    this.sidecar = this.#make();
    await this.sidecar.start();
  }

  /** What a client does that repeats what failed; `isDone` says whether it came through all the same. */
  async #insist(what: () => Promise<unknown>, isDone: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 5; tries++) {
      if (tries > 0) await this.#pass(1);
      if (tries > 0 && (await isDone())) return;
      const died = (async () => {
        for (let turns = 0; turns < 500; turns++) {
          if (this.isDown) throw new Error('the process has died');
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      const isOver = await Promise.race([what().then(() => true), died]).catch(() => false);
      died.catch(() => undefined);
      if (isOver === true) return;
    }
    throw new Error('does not come through');
  }

  async #pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.#revive();
      await this.clock.advance('1s');
    }
    await this.#revive();
  }

  async play(): Promise<void> {
    await this.sidecar.start();
    const statusOf = async (id: string) => (await this.sidecar.workflows.get(id))?.status;
    const start = (name: string, input: unknown, instanceId: string): Promise<void> =>
      this.#insist(
        () => this.sidecar.workflows.start(name, input, { instanceId }),
        async () => (await statusOf(instanceId)) !== undefined,
      );
    const raise = (data: string): Promise<void> =>
      this.#insist(
        () => this.sidecar.workflows.raiseEvent('one', 'event', data),
        async () => false,
      );
    await start('rich', 1, 'one');
    await raise('a1');
    await this.#pass(1);
    await this.#insist(
      () => this.sidecar.workflows.pause('one'),
      async () => (await statusOf('one')) === 'SUSPENDED',
    );
    await this.#pass(1);
    await raise('b1');
    await this.#insist(
      () => this.sidecar.workflows.resume('one'),
      async () => (await statusOf('one')) === 'RUNNING',
    );
    await raise('c1');
    await start('endless', undefined, 'tree');
    await this.#pass(40);
    await this.#insist(
      () => this.sidecar.workflows.terminate('tree', 'felled'),
      async () => false,
    );
    await raise('c2');
    await this.#pass(40);
    await this.clock.settled();
  }

  async result(): Promise<unknown> {
    const { workflows } = this.sidecar;
    const { instances } = await workflows.listPage();
    const all = [];
    for (const { instanceId, status, output, failure } of instances) {
      const history = await workflows.history(instanceId);
      all.push({ instanceId, status, output, reason: failure?.message, ...countsOf(history) });
    }
    return all;
  }

  /** What is left in the store besides the instances: nothing, once they are purged. */
  async leftovers(): Promise<string[]> {
    const { workflows } = this.sidecar;
    await workflows.purge('one');
    await workflows.purge('tree');
    await this.clock.settled();
    const left = await this.store.memory.scan({ from: 'workflows!', to: 'workflows"' });
    return left.map(({ key }) => key);
  }

  async stop(): Promise<void> {
    const stopped = this.sidecar.stop();
    await this.clock.advance('1m');
    await stopped;
  }
}

/** How many results each call has, and which turn is first. */
function countsOf(history: readonly WorkflowHistoryEvent[]): object {
  const calls = history.filter((event) => event.type === 'activityScheduled' || event.type === 'childStarted');
  const results = calls.map(
    (call) =>
      history.filter(
        (event) =>
          /^(activity|child)(Completed|Failed)$/.test(event.type) &&
          'sequence' in event &&
          event.sequence === call.sequence,
      ).length,
  );
  const timers = history.filter(({ type }) => type === 'timerCreated').length;
  return { calls: calls.map(({ type, sequence, name }) => [type, sequence, name]).sort(), results, timers };
}

async function outcomeOf(way: Way, at: number): Promise<readonly [unknown, string[], number]> {
  const disturbed = new Disturbed(way, at);
  await disturbed.play();
  const result = await disturbed.result();
  const left = await disturbed.leftovers();
  await disturbed.stop();
  return [result, left, disturbed.commits];
}

for (const way of ['refused', 'lost', 'crash before', 'crash after'] as const)
  test(`comes to the same when any one commit is ${way}`, async () => {
    const [expected, left, commits] = await outcomeOf(way, 0);
    expect(left).toEqual([]);
    expect(commits).toBeGreaterThan(30);
    for (let at = 1; at <= commits; at++) {
      const [result, leftovers] = await outcomeOf(way, at);
      expect({ at, result }).toEqual({ at, result: expected });
      expect({ at, leftovers }).toEqual({ at, leftovers: [] });
    }
  }, 120_000);
