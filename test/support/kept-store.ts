import { MemoryStore } from '../../src/components/memory/memory-store.ts';
import { type Batch, type StateDefinition, type StateStore, systemClock } from '../../src/kit/index.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** What a commit does besides committing. */
export type Interference = (batch: Batch, commit: () => Promise<number>) => Promise<number>;

/** State in memory that outlives the sidecars that use it, one after the other; a test can interfere with commits. */
export class KeptStore implements StateDefinition {
  readonly type = 'kept';
  readonly memory: MemoryStore;
  /** Scans that were made. */
  scans = 0;
  interfere: Interference = (_batch, commit) => commit();
  failReads = false;

  /** @param memory - what another one has kept */
  constructor(memory: MemoryStore = new MemoryStore({ clock: systemClock, logger: silent })) {
    this.memory = memory;
  }

  async open(): Promise<StateStore> {
    const { memory } = this;
    let closed = false;
    const read = <T>(work: () => Promise<T>): Promise<T> =>
      this.failReads ? Promise.reject(new Error('the disk is on fire')) : work();
    return {
      failure: undefined,
      isExclusive: true,
      get: (key) => read(() => memory.get(key)),
      scan: (scan) => {
        this.scans++;
        return read(() => memory.scan(scan));
      },
      commit: (batch) =>
        closed ? Promise.reject(new Error('closed')) : this.interfere(batch, () => memory.commit(batch)),
      watch: (prefix, onChange) => memory.watch(prefix, onChange),
      close: async () => {
        closed = true;
      },
      [Symbol.asyncDispose]: async () => undefined,
    };
  }

  /** How many entries there are of jobs. */
  async size(): Promise<number> {
    return (await this.memory.scan({ from: 'jobs!', to: 'jobs"' })).length;
  }
}
