import { expect, test, vi } from 'vitest';
import { StoreView } from '../../src/cluster/store-view.ts';
import {
  type DurablePubSubOptions,
  durablePubSub,
  type KeyValueOptions,
  keyValueStore,
  sharedState,
} from '../../src/index.ts';
import type { Batch, StateDefinition } from '../../src/kit/index.ts';
import { TestSidecar, type TestSidecarOptions } from './sidecar.ts';

const OUTBOX = { pubsubName: 'pubsub', topic: 'placed' };

class KeptCommits extends StoreView {
  commits: Batch[] = [];

  override async commit(batch: Batch): Promise<number> {
    const version = await super.commit(batch);
    this.commits.push(batch);
    return version;
  }
}

/** State whose commits are kept. Sidecars share it. */
export class WatchedState implements StateDefinition {
  readonly type: string;
  readonly open: StateDefinition['open'];
  #opened: KeptCommits | undefined;

  constructor(definition: StateDefinition) {
    this.type = definition.type;
    const open: StateDefinition['open'] = async (context) => {
      this.#opened = new KeptCommits(await definition.open(context));
      return this.#opened;
    };
    this.open = sharedState({ type: definition.type, open }).open;
  }

  /** The parts of a sidecar's state that each commit has changed since the last look, such as `kv` and `pubsub`. */
  takeCommits(): readonly (readonly string[])[] {
    const commits = this.#opened?.commits.splice(0) ?? [];
    return commits.map(({ put = [], delete: removed = [] }) => {
      const keys = [...put.map(({ key }) => key), ...removed];
      return [...new Set(keys.map((key) => key.split('!')[0] ?? ''))].sort();
    });
  }
}

/** Options of an {@link OutboxWorld}. */
export interface OutboxWorldOptions extends TestSidecarOptions {
  readonly store?: KeyValueOptions;
  readonly pubsub?: DurablePubSubOptions;
}

/** A sidecar with a state store `orders`, whose outbox publishes to `placed` of a durable pub/sub on its state. */
export class OutboxWorld extends TestSidecar {
  /** The data of the events that came. */
  readonly data: unknown[] = [];

  constructor({ store, pubsub, ...options }: OutboxWorldOptions) {
    const orders = keyValueStore('orders', { outbox: OUTBOX, ...store });
    super({ components: [orders, durablePubSub('pubsub', pubsub)], ...options });
  }

  /** Starts a world whose sidecar takes the events. */
  static async start(options: OutboxWorldOptions): Promise<OutboxWorld> {
    const world = await new OutboxWorld(options).start();
    await world.subscribe();
    return world;
  }

  async subscribe(): Promise<void> {
    await this.sidecar.pubsub.subscribe('pubsub', OUTBOX.topic, ({ data }) => void this.data.push(data));
    await this.clock.settled();
  }

  /** Saves values in one transaction; an ETag is that of all of them. */
  async transact(values: Readonly<Record<string, unknown>>, etag?: string): Promise<void> {
    const upserts = Object.entries(values).map(([key, value]) => ({
      ...{ operation: 'upsert' as const, key, value },
      ...(etag === undefined ? {} : { etag }),
    }));
    await this.sidecar.state.transact('orders', upserts);
  }

  /** Waits for events: these, and no others. */
  async expect(...data: readonly unknown[]): Promise<void> {
    await vi.waitFor(() => expect(this.data.length).toBeGreaterThanOrEqual(data.length), { timeout: 10_000 });
    await this.clock.settled();
    expect(this.data).toEqual(data);
  }
}

/** What holds for an outbox and a durable pub/sub on one state, whatever the engine. */
export function sameCommitCases(newState: () => StateDefinition): void {
  test('a value that is set behind a transaction that is not awaited replaces its value', async () => {
    await using world = await OutboxWorld.start({ state: new WatchedState(newState()) });
    for (let n = 0; n < 10; n++) {
      await Promise.all([
        world.transact({ a: `transaction ${n}`, b: 'b' }),
        world.sidecar.state.set('orders', 'a', `set ${n}`),
        world.transact({ a: `second ${n}` }),
        world.sidecar.state.set('orders', 'a', `last ${n}`),
      ]);
      expect((await world.sidecar.state.get('orders', 'a'))?.value).toBe(`last ${n}`);
    }
  });

  test('a transaction and its events are one commit, and the events are delivered once', async () => {
    const state = new WatchedState(newState());
    await using world = await OutboxWorld.start({ state });
    await world.transact({ a: 0 });
    await world.expect(0);
    state.takeCommits();
    await world.transact({ a: 1, b: 2 });
    await world.expect(0, 1, 2);
    const commits = state.takeCommits();
    expect(commits.filter((parts) => parts.includes('kv'))).toEqual([['kv', 'pubsub']]);
    expect(commits.flat()).not.toContain('kv-outbox');
    await world.pass('2m');
    expect(world.data).toEqual([0, 1, 2]);
    const { value } = (await world.sidecar.state.get('orders', 'a')) ?? {};
    expect(value).toBe(1);
  });

  test('a transaction that is refused publishes nothing', async () => {
    await using world = await OutboxWorld.start({ state: newState() });
    await expect(world.transact({ a: 1, b: 2 }, '7')).rejects.toMatchObject({ code: 'ERR_STATE_TRANSACTION' });
    await world.transact({ c: 3 });
    await world.expect(3);
  });

  test('of transactions with one ETag at the same time, one is done, and its events come', async () => {
    await using world = await OutboxWorld.start({ state: newState() });
    const { etag } = await world.sidecar.state.set('orders', 'a', 0);
    const values = Array.from({ length: 8 }, (_, index) => index);
    const settled = await Promise.allSettled(values.map((value) => world.transact({ a: value }, etag)));
    const done = values.filter((index) => settled[index]?.status === 'fulfilled');
    expect(done).toHaveLength(1);
    await world.expect(...done);
  });

  test('a group of another host that is added meanwhile gets the events', async () => {
    const state = new WatchedState(newState());
    await using world = await OutboxWorld.start({ state });
    await using other = await new OutboxWorld({ state, appId: 'billing', clock: world.clock }).start();
    const transacted = Array.from({ length: 20 }, (_, n) => n);
    const subscribing = other.subscribe();
    for (const n of transacted) await world.transact({ [`k${n}`]: n });
    await subscribing;
    await world.transact({ last: 'last' });
    await world.expect(...transacted, 'last');
    await vi.waitFor(() => expect(other.data).toContain('last'), { timeout: 10_000 });
    expect(other.data).toEqual([...transacted, 'last'].slice(-other.data.length));
  });
}
