import { Damages } from '../../../state/damages.ts';
import type { Put, StateStore } from '../../../state/store.ts';
import { readValue, withFormat } from '../../../state/values.ts';
import type { Logger } from '../../../util/logger.ts';
import type { AttemptFields, WorkflowLayout } from './layout.ts';

/** Format 1: the run's ID and the count, in JSON. */
const FORMAT = 1;

/** Counts by the number of the attempt. */
export type CrashCounts = ReadonlyMap<number, number>;

/** How often the process ended during attempts of activities that have no result. */
export class BegunAttempts {
  readonly #store: StateStore;
  readonly #layout: WorkflowLayout;
  readonly #damages: Damages;

  constructor(store: StateStore, layout: WorkflowLayout, logger: Logger) {
    this.#store = store;
    this.#layout = layout;
    this.#damages = new Damages(logger, 'a stored count of crashes cannot be read: it begins anew');
  }

  key({ instanceId, sequence }: AttemptFields): string {
    return this.#layout.begun(instanceId, sequence);
  }

  put(attempt: AttemptFields, crashes: number): Put {
    const text = JSON.stringify([attempt.executionId, crashes]);
    return { key: this.key(attempt), value: withFormat(FORMAT, Buffer.from(text)) };
  }

  /** The counts of a run. */
  async read(instanceId: string, executionId: string): Promise<CrashCounts> {
    const counts = new Map<number, number>();
    for (const entry of await this.#store.scan(this.#layout.begunRange(instanceId))) {
      const found = this.#damages.read(entry, () => readValue(entry.key, entry.value, { [FORMAT]: countOf }));
      if (found?.executionId === executionId) counts.set(this.#layout.begunNumberOf(entry.key), found.crashes);
    }
    return counts;
  }
}

function countOf(payload: Uint8Array): { readonly executionId: unknown; readonly crashes: number } {
  const [executionId, crashes] = JSON.parse(Buffer.from(payload).toString()) as readonly unknown[];
  if (typeof crashes !== 'number' || !Number.isSafeInteger(crashes)) throw new Error('a count was expected');
  return { executionId, crashes };
}
