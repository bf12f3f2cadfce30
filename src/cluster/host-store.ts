import type { OnChange } from '../state/local-watch.ts';
import type { Batch, Entry, KeyedEntry, KeyRange, Scan, StateStore } from '../state/store.ts';
import type { Logger } from '../util/logger.ts';
import { keepLocalHosts, type LocalHosts } from './local-hosts.ts';
import type { Patience } from './patience.ts';
import { StoreView } from './store-view.ts';
import { isMarkConflict, NO_MARK, unfinishedError } from './unfinished-move.ts';

/** The dependencies of a {@link HostStore}. */
export interface HostStoreDeps {
  readonly logger: Logger;
  /** Absent: calls are waited for. */
  readonly patience?: Pick<Patience, 'isLimited' | 'note'>;
}

/**
 * One host's access to a store. Its watches report the changes of other hosts, not the host's own. When the host stops,
 * calls that the store does not answer are given up.
 */
export class HostStore extends StoreView {
  readonly #logger: Logger;
  readonly #patience: HostStoreDeps['patience'];
  /** Whether a commit has shown that no move to the store is unfinished. A move begins only where nothing is stored. */
  #isComplete = false;
  #hasWarned = false;

  constructor(store: StateStore, hosts: LocalHosts, { logger, patience }: HostStoreDeps) {
    super(store);
    this.#logger = logger;
    this.#patience = patience;
    keepLocalHosts(this, hosts);
  }

  override get(key: string): Promise<Entry | undefined> {
    return this.#noted(super.get(key));
  }

  override getAll(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    return this.#noted(super.getAll(keys));
  }

  override scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    return this.#noted(super.scan(scan));
  }

  override count(range: KeyRange, limit: number): Promise<number> {
    return this.#noted(super.count(range, limit));
  }

  override commit(batch: Batch): Promise<number> {
    const own = { ...batch, by: this };
    return this.#noted(this.#isComplete ? super.commit(own) : this.#commitFirst(own));
  }

  #noted<T>(answer: Promise<T>): Promise<T> {
    return this.#patience?.isLimited === true ? this.#patience.note(answer) : answer;
  }

  /** The start has looked for an unfinished move only if the store worked then. */
  async #commitFirst(batch: Batch): Promise<number> {
    try {
      const version = await super.commit({ ...batch, require: [NO_MARK, ...(batch.require ?? [])] });
      this.#isComplete = true;
      return version;
    } catch (error) {
      // Not a conflict any more: another try would end in the same way.
      throw isMarkConflict(error) ? this.#refusal(error) : error;
    }
  }

  #refusal(cause: unknown): Error {
    const error = unfinishedError('The state', cause);
    if (!this.#hasWarned) this.#logger.error({ error }, 'a move to the state store has not ended: nothing is written');
    this.#hasWarned = true;
    return error;
  }

  override watch(prefix: string, onChange: OnChange): Disposable {
    return super.watch(prefix, (keys, by) => {
      if (by !== this) onChange(keys, by);
    });
  }
}
