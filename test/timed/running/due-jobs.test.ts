import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobLayout } from '../../../src/blocks/jobs/job-layout.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import type { StoredJob } from '../../../src/timed/job.ts';
import { DueJobs } from '../../../src/timed/running/due-jobs.ts';
import { JobStore } from '../../../src/timed/running/job-store.ts';
import type { Due } from '../../../src/timed/running/stored-jobs.ts';
import { Heap } from '../../../src/util/heap.ts';
import { KeptStore } from '../../support/kept-store.ts';
import { RecordingLogger } from '../../support/logger.ts';

function jobAt(name: string, tickAt: number): StoredJob {
  return {
    name,
    schedule: undefined,
    dueTime: '1s',
    repeats: undefined,
    ttl: undefined,
    policy: undefined,
    data: undefined,
    dataId: undefined,
    anchorAt: 0,
    expiresAt: undefined,
    tickAt,
    failures: 0,
    crashes: 0,
    isBegun: false,
    coveredTo: undefined,
    runs: 0,
    ended: false,
    lastRun: undefined,
    resumeAt: undefined,
    heldTickAt: undefined,
    basis: undefined,
    trace: undefined,
  };
}

type Step =
  | { readonly do: 'schedule'; readonly name: number; readonly at: number }
  | { readonly do: 'delete'; readonly name: number }
  | { readonly do: 'take' | 'read' | 'reset' | 'await' };

const name = fc.integer({ min: 0, max: 60 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('schedule' as const), name, at: fc.integer({ min: 0, max: 20 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), name }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('take' as const, 'read' as const, 'await' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reset' as const) }) },
);

/** Drives a window beside changes of the store; its scans are answered late. */
class Run {
  readonly #store: JobStore;
  readonly #window: DueJobs;
  /** Lets the scans that are under way be answered. */
  readonly #answer: () => void;
  /** What the store holds and nobody has taken, by name. */
  readonly #waiting = new Map<string, Due>();
  readonly #taken = new Set<number>();
  #reading: Promise<void> | undefined;

  constructor(store: JobStore, answer: () => void) {
    this.#store = store;
    this.#answer = answer;
    const isTaken = ({ version }: Due): boolean => this.#taken.has(version);
    this.#window = new DueJobs(
      { stored: store.stored, clock: virtualClock(), isTaken },
      { limit: 4, maxBytes: 1_000_000 },
    );
  }

  async do(one: Step): Promise<void> {
    if (one.do === 'schedule') await this.#schedule(`job-${one.name}`, one.at);
    else if (one.do === 'delete') await this.#delete(`job-${one.name}`);
    else if (one.do === 'take') this.#take();
    else if (one.do === 'reset') this.#window.reset();
    else if (one.do === 'await') await this.#finishReading();
    else this.#read();
  }

  async #schedule(jobName: string, at: number): Promise<void> {
    const planned = { job: jobAt(jobName, at), at };
    const scheduled = await this.#store.schedule(planned, () => planned);
    if (scheduled === undefined) throw new Error('exists');
    if (scheduled.replaced !== undefined) this.#window.remove(scheduled.replaced);
    this.#window.add(scheduled.due);
    this.#waiting.set(jobName, scheduled.due);
  }

  async #delete(jobName: string): Promise<void> {
    const removed = await this.#store.remove(jobName);
    if (removed !== undefined) this.#window.remove(removed.key);
    this.#waiting.delete(jobName);
  }

  #take(): Due | undefined {
    const due = this.#window.shift();
    if (due === undefined) return undefined;
    expect(this.#waiting.get(due.job.name)?.version, `${due.key} was taken although it does not wait`).toBe(
      due.version,
    );
    this.#waiting.delete(due.job.name);
    this.#taken.add(due.version);
    return due;
  }

  #read(): void {
    this.#reading ??= this.#window.read().finally(() => {
      this.#reading = undefined;
    });
  }

  async #finishReading(): Promise<void> {
    // The scan itself takes some turns before it waits for its answer.
    for (let turn = 0; turn < 5; turn++) await undefined;
    this.#answer();
    await this.#reading;
  }

  /** Takes all that is left: everything that waits, once, in order of time. */
  async drain(): Promise<void> {
    await this.#finishReading();
    let last = Number.NEGATIVE_INFINITY;
    for (;;) {
      while (this.#window.isLow) await this.#window.read();
      const due = this.#take();
      if (due === undefined) break;
      expect(due.at).toBeGreaterThanOrEqual(last);
      last = due.at;
    }
    expect([...this.#waiting.keys()]).toEqual([]);
  }
}

test('whatever changes while it reads, every entry is taken once, in its latest form and in order of time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120, size: 'max' }), async (steps) => {
      const kept = new KeptStore();
      const store = await kept.open();
      const answers: (() => void)[] = [];
      let isPrompt = false;
      const late = {
        ...store,
        scan: async (scan: Parameters<typeof store.scan>[0]) => {
          const entries = await store.scan(scan);
          if (!isPrompt) await new Promise<void>((resolve) => answers.push(resolve));
          return entries;
        },
      };
      const answer = (): void => {
        for (const resolve of answers.splice(0)) resolve();
      };
      const run = new Run(
        new JobStore({ store: late, layout: jobLayout('shop'), newId: () => 'id', logger: new RecordingLogger() }),
        answer,
      );
      for (const one of steps) await run.do(one);
      isPrompt = true;
      await run.drain();
    }),
    { numRuns: 150 },
  );
});

test('a heap gives its items in order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.array(fc.integer()), (first, second) => {
      const heap = new Heap<number>((value) => value);
      heap.reset(first);
      const least = heap.pop();
      for (const value of second) heap.push(value);
      const rest: number[] = [];
      for (let value = heap.pop(); value !== undefined; value = heap.pop()) rest.push(value);
      const sorted = [...first].sort((a, b) => a - b);
      expect(least).toBe(sorted[0]);
      expect(rest).toEqual([...sorted.slice(1), ...second].sort((a, b) => a - b));
    }),
  );
});
