import { type Duration, defineJob, type JobHandler } from '../../src/index.ts';
import { patientClock } from './clock.ts';
import { KeptStore } from './kept-store.ts';
import { TestSidecar, type TestSidecarOptions } from './sidecar.ts';

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

/** A sidecar whose jobs run in code, with state that outlives it. */
export class JobsWorld extends TestSidecar {
  readonly store: KeptStore;
  readonly seen: Seen[] = [];
  /** What a run does; by default nothing. */
  run: JobHandler = () => undefined;

  constructor(options: TestSidecarOptions & { store?: KeptStore; startAt?: string } = {}) {
    const { store = new KeptStore(), startAt = '2026-01-01T00:00:00Z', ...rest } = options;
    super({ clock: patientClock({ startAt }), state: store, ...rest });
    this.store = store;
  }

  /** Handles jobs of every name. */
  handleAll(pattern = '*'): void {
    void this.sidecar.jobs.register(defineJob(pattern, this.record));
  }

  /** Notes a run and does what one does. */
  readonly record: JobHandler = (data, run) => {
    const { name, dueAt, attempt } = run;
    this.seen.push({ name, at: timeOf(this.clock.now()), dueAt: timeOf(dueAt), attempt, data });
    return this.run(data, run);
  };

  /** When runs began. */
  get times(): readonly string[] {
    return this.seen.map(({ at }) => at);
  }

  /** The events of jobs, as `<event> <job> <attempt or reason>`. */
  get lines(): readonly string[] {
    return this.events
      .filter(({ name }) => name.startsWith('job'))
      .map(({ name, info }) =>
        [name, info['jobName'], info['attempt'] ?? info['reason']].filter((part) => part !== undefined).join(' '),
      );
  }

  /** As when the process ends and another one begins, `later` on. */
  async restart(later: Duration, handled = true): Promise<void> {
    await this.replace(later);
    if (handled) this.handleAll();
    await this.start();
  }
}

/** Handlers for all jobs, and running. */
export async function jobsWorld(options: ConstructorParameters<typeof JobsWorld>[0] = {}): Promise<JobsWorld> {
  const world = new JobsWorld(options);
  world.handleAll();
  return world.start();
}
