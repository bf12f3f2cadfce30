import type { Shards } from '../../cluster/shards.ts';
import { type Admission, type Limit, Limits } from '../../kernel/limits.ts';
import type { OwnedShards } from '../../kernel/owned-shards.ts';
import type { StateStore } from '../../state/store.ts';
import type { RunRules } from './run-rules.ts';
import type { Due } from './stored-jobs.ts';
import type { Targets } from './target.ts';

/** A limit of jobs; each job waits by the key of its entry. */
type JobLimit = Limit<string, Due>;

/** The most jobs of one limit that wait in memory. The others are read again when half of these have run. */
const MAX_WAITING = 1_000;

/** What a job without limits has. */
export const UNLIMITED: Admission = { begun: () => undefined, ended: () => undefined };

/** The dependencies of {@link LimitedJobs}. */
export interface LimitedJobsDeps extends Pick<RunRules, 'clock' | 'logger' | 'work'> {
  readonly store: StateStore;
  readonly shards: Pick<Shards, 'hosts'>;
  readonly owned: OwnedShards;
  readonly targets: Targets;
  /** The prefix of the entries. */
  readonly prefix: string;
  /** Jobs that have waited are met again. */
  readonly go: (due: Due) => void;
  /** Jobs that were passed over are to be read again. */
  readonly readAnew: () => void;
}

/** Due jobs that wait since their runs are limited over all hosts. */
export class LimitedJobs {
  readonly #targets: Targets;
  readonly #limits: Limits<string, Due>;
  readonly #waiting = new Map<string, { readonly version: number; readonly limit: JobLimit }>();
  readonly #passedOver = new Set<JobLimit>();

  constructor({ shards, owned, targets, go, readAnew, ...deps }: LimitedJobsDeps) {
    this.#targets = targets;
    this.#limits = new Limits<string, Due>({
      ...deps,
      kind: 'job',
      hosts: shards.hosts,
      owned,
      go: (dues, limit) => {
        for (const { key } of dues) this.#waiting.delete(key);
        for (const due of dues) go(due);
        if (limit.waiting <= MAX_WAITING / 2 && this.#passedOver.delete(limit)) readAnew();
      },
    });
  }

  /** Lets a job run now, as far as it is limited; `undefined` if it is to wait, and to be met again. */
  admit(due: Due): Admission | undefined {
    const { key, version, job } = due;
    const limits = this.#targets.limitsOf?.(job.name);
    const limit = limits && this.#limits.of(limits.name, limits.limits);
    if (limit === undefined) return UNLIMITED;
    this.remove(key);
    if (limit.waiting >= MAX_WAITING) {
      this.#passedOver.add(limit);
      return undefined;
    }
    const admission = limit.admit(key, due);
    if (admission === undefined) this.#waiting.set(key, { version, limit });
    return admission;
  }

  /** Whether this entry waits. Compares versions: a replaced job may have the same key. */
  isWaiting({ key, version }: Due): boolean {
    return this.#waiting.get(key)?.version === version;
  }

  /** An entry was replaced or removed. */
  remove(key: string): void {
    this.#waiting.get(key)?.limit.drop(key);
    this.#waiting.delete(key);
  }

  /** Forgets all that wait: they are read again. */
  reset(): void {
    for (const key of [...this.#waiting.keys()]) this.remove(key);
  }

  /** Begins no more runs. */
  stop(): void {
    this.reset();
    this.#limits.stop();
  }

  /** Gives back what this host has of the limits. */
  close(): Promise<void> {
    return this.#limits.close();
  }
}
