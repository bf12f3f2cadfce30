import { Membership } from '../../src/cluster/membership.ts';
import type { ShardChange } from '../../src/cluster/shards.ts';
import { MemoryStore } from '../../src/components/memory/memory-store.ts';
import { isConflictError } from '../../src/state/errors.ts';
import type { Batch, StateStore } from '../../src/state/store.ts';
import type { VirtualClock } from '../../src/testing/index.ts';
import { Work } from '../../src/util/work.ts';
import { patientClock } from './clock.ts';
import { RecordingLogger } from './logger.ts';
import { PausableStore } from './pausable-store.ts';

/** Memory that other processes could have open as well, as far as its users know; counts what is asked of it. */
export class OpenStore extends MemoryStore {
  commits = 0;
  scans = 0;
  failing = false;
  readonly #isExclusive: boolean;

  constructor(isExclusive = false) {
    super({ clock: patientClock(), logger: new RecordingLogger() });
    this.#isExclusive = isExclusive;
  }

  /** Whether its users are to think that only one process can have it open. */
  get isForOneProcess(): boolean {
    return this.#isExclusive;
  }

  override async commit(batch: Batch): Promise<number> {
    if (this.failing) throw new Error('the disk is on fire');
    const version = await super.commit(batch);
    this.commits++;
    return version;
  }

  override async scan(...args: Parameters<MemoryStore['scan']>): ReturnType<MemoryStore['scan']> {
    if (this.failing) throw new Error('the disk is on fire');
    this.scans++;
    return super.scan(...args);
  }
}

/** A host with a clock and an access to the store of its own: it can stand still as a whole. */
export class TestHost {
  readonly clock: VirtualClock;
  readonly logger = new RecordingLogger();
  readonly changes: ShardChange[] = [];
  readonly membership: Membership;
  readonly #store: PausableStore;

  constructor(membership: Membership, store: PausableStore, clock: VirtualClock, logger: RecordingLogger) {
    this.membership = membership;
    this.#store = store;
    this.clock = clock;
    this.logger = logger;
    membership.shards.onChange((change) => void this.changes.push(change));
  }

  static async join(
    store: StateStore,
    options: {
      readonly appId?: string;
      readonly id?: string;
      readonly actorTypes?: readonly string[];
      readonly hints?: 'all' | 'own';
      readonly heartbeatMs?: number;
      readonly leaseMs?: number;
    } = {},
  ): Promise<TestHost> {
    const { appId = 'shop', id, actorTypes = [], hints = 'own', ...times } = options;
    const clock = patientClock();
    const logger = new RecordingLogger();
    const work = new Work();
    clock.watch(work);
    let ids = 0;
    const own = new PausableStore(store, store instanceof OpenStore ? store.isForOneProcess : true);
    own.hints = hints;
    const membership = await Membership.join({
      ...{ store: own, appId, namespace: 'default', clock, logger, actorTypes, ...times },
      newId: () => (id === undefined ? crypto.randomUUID() : `${id}${++ids}`),
      track: (what) => work.begin(what),
    });
    const host = new TestHost(membership, own, clock, logger);
    await host.clock.settled();
    return host;
  }

  /** It stands still: nothing that it asks the store for gets there, and it hears of nothing. */
  pause(): void {
    this.#store.pause();
  }

  /** It goes on, with what it was about to do. */
  resume(): void {
    this.#store.resume();
  }

  get owned(): readonly number[] {
    const { shards } = this.membership;
    return Array.from({ length: shards.count }, (_, shard) => shard).filter((shard) => shards.owns(shard));
  }

  /** Writes a note for a shard as its owner; answers whether the store took it. */
  async write(shard: number, text: string): Promise<boolean> {
    const { shards } = this.membership;
    try {
      const put = [{ key: `note/${shard}`, value: Buffer.from(text) }];
      await this.#store.commit({ require: [shards.fence(shard)], put });
      return true;
    } catch (error) {
      if (!isConflictError(error)) throw error;
      shards.isFenced(error);
      return false;
    }
  }
}

/** Lets time pass for some hosts, step by step. */
export async function pass(hosts: readonly TestHost[], seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) for (const { clock } of hosts) await clock.advance(1_000);
}
