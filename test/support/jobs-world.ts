import { type JobRun, Sidecar, type SidecarOptions } from '../../src/index.ts';
import type { VirtualClock } from '../../src/testing/index.ts';
import { patientClock } from './clock.ts';
import { KeptStore } from './kept-store.ts';
import { RecordingLogger } from './world.ts';

const EVENTS = [
  'jobScheduled',
  'jobTriggered',
  'jobDone',
  'jobRetrying',
  'jobFailed',
  'jobDropped',
  'jobGone',
] as const;

/** A run, as its handler saw it. */
export interface Seen {
  readonly name: string;
  readonly at: string;
  readonly dueAt: string;
  readonly attempt: number;
  readonly data: unknown;
}

export const timeOf = (at: number): string =>
  new Date(at)
    .toISOString()
    .slice(0, -1)
    .replace(/\.000$/, '');

/** A sidecar whose jobs run in code, a clock that stands still, and state that outlives the sidecar. */
export class JobsWorld implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly store: KeptStore;
  readonly logger = new RecordingLogger();
  readonly seen: Seen[] = [];
  readonly told: string[] = [];
  sidecar: Sidecar;
  /** What a run does; by default nothing. */
  run: (run: JobRun) => unknown = () => undefined;
  readonly #options: Partial<SidecarOptions>;

  constructor(options: Partial<SidecarOptions> & { store?: KeptStore; startAt?: string } = {}) {
    const { store = new KeptStore(), startAt = '2026-01-01T00:00:00Z', ...rest } = options;
    this.clock = patientClock({ startAt });
    this.store = store;
    this.#options = rest;
    this.sidecar = this.#make();
  }

  #make(): Sidecar {
    const { clock, store, logger } = this;
    const sidecar = new Sidecar({ appId: 'shop', clock, state: store, logger, ...this.#options });
    for (const name of EVENTS) {
      sidecar.events.on(name, (info: { jobName: string; attempt?: number; reason?: string }) =>
        this.told.push(
          [name, info.jobName, info.attempt ?? info.reason].filter((part) => part !== undefined).join(' '),
        ),
      );
    }
    return sidecar;
  }

  /** Handles jobs of every name. */
  handleAll(pattern = '*'): void {
    this.sidecar.jobs.handle(pattern, this.record);
  }

  /** Notes a run and does what one does. */
  readonly record = (run: JobRun): unknown => {
    const { name, dueAt, attempt, data } = run;
    this.seen.push({ name, at: timeOf(this.clock.now()), dueAt: timeOf(dueAt), attempt, data });
    return this.run(run);
  };

  async start(): Promise<this> {
    await this.sidecar.start();
    await this.clock.settled();
    return this;
  }

  /** When runs began. */
  get times(): readonly string[] {
    return this.seen.map(({ at }) => at);
  }

  async stop(): Promise<void> {
    const stopped = this.sidecar.stop();
    await this.clock.advance('11s');
    await stopped;
  }

  /** As when the process ends and another one begins, `later` on. */
  async restart(later: string, handled = true): Promise<void> {
    await this.stop();
    await this.clock.advance(later);
    this.sidecar = this.#make();
    if (handled) this.handleAll();
    await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** Handlers for all jobs, and running. */
export async function jobsWorld(options: ConstructorParameters<typeof JobsWorld>[0] = {}): Promise<JobsWorld> {
  const world = new JobsWorld(options);
  world.handleAll();
  return world.start();
}
