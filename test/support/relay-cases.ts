import { expect, test, vi } from 'vitest';
import { OutboxRelay } from '../../src/blocks/state/outbox/outbox-relay.ts';
import type { KeyValueStore } from '../../src/components/key-value.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { Work } from '../../src/util/work.ts';
import { RecordingLogger } from './logger.ts';

/** A process that publishes what waits in a store, with a clock of its own, which nothing but the test moves. */
class RelayProcess {
  readonly clock;
  readonly #relay: OutboxRelay;

  constructor(name: string, store: KeyValueStore, published: string[], publishing?: () => Promise<void>) {
    // The clocks of processes differ.
    this.clock = virtualClock(name === 'one' ? {} : { startAt: '2030-01-01T00:00:00Z' });
    if (store.outbox === undefined) throw new Error('the store has no outbox');
    this.#relay = new OutboxRelay({
      ...{ appId: 'shop', storeName: 'orders', store, outbox: store.outbox, clock: this.clock },
      // Not watched by the clock, which would wait for a process that stands still.
      ...{ work: new Work(this.clock), logger: new RecordingLogger(), newId: () => name },
      publisher: () => ({
        check: () => undefined,
        prepareInCommit: () => undefined,
        publish: async (_to, event) => {
          await publishing?.();
          published.push(`${name} ${Buffer.from(event).toString()}`);
        },
      }),
    });
  }

  start(): this {
    this.#relay.start();
    return this;
  }

  stop(): Promise<void> {
    return this.#relay.stop();
  }

  /** Lets time pass, with what happens in it, until a condition holds. */
  async until(isDone: () => boolean, stepMs = 1_000): Promise<number> {
    for (let passed = 0; ; passed += stepMs) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (isDone() || passed > 120_000) return passed;
      await this.clock.advance(stepMs);
    }
  }
}

/** Leaves an event of a key in a transaction. */
async function leave(store: KeyValueStore, id: string): Promise<void> {
  const bytes = Buffer.from(`["pubsub","topic","k"]\n${id}`);
  await store.write([{ kind: 'put', key: 'shop||k', value: Buffer.from('1') }], {
    atomic: true,
    events: [{ id, bytes }],
  });
}

/** How processes share the outbox of a store, whatever the store. */
export function relayCases(openTwo: () => Promise<readonly [KeyValueStore, KeyValueStore]>): void {
  test('a relay that stands still is replaced, and then publishes nothing more than it had begun', async () => {
    const [one, other] = await openTwo();
    const published: string[] = [];
    let goOn = (): void => undefined;
    const standstill = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let isBegun = false;
    for (const id of ['1', '2', '3']) await leave(one, id);
    const first = new RelayProcess('one', one, published, () => {
      isBegun = true;
      return standstill;
    }).start();
    await vi.waitFor(() => expect(isBegun).toBe(true), { timeout: 5_000 });
    const second = new RelayProcess('other', other, published).start();
    const waited = await second.until(() => published.length === 3);
    expect(published).toEqual(['other 1', 'other 2', 'other 3']);
    expect(waited).toBeGreaterThanOrEqual(10_000);
    expect(waited).toBeLessThanOrEqual(20_000);
    // Its clock shows how long it stood still, and the answer to the first publish comes now.
    await first.clock.advance(20_000);
    goOn();
    await first.until(() => published.length > 3);
    await leave(one, '4');
    await second.until(() => published.some((line) => line.endsWith(' 4')));
    expect(published.slice(3).map((line) => line.split(' ')[1])).toEqual(['1', '4']);
    await Promise.all([first.stop(), second.stop()]);
    await Promise.all([one.close(), other.close()]);
  });

  test('a relay that works is not replaced, however long it takes', async () => {
    const [one, other] = await openTwo();
    const published: string[] = [];
    const ids = Array.from({ length: 8 }, (_value, index) => String(index));
    for (const id of ids) await leave(one, id);
    let goOn = (): void => undefined;
    const slow = (): Promise<void> =>
      new Promise((resolve) => {
        goOn = resolve;
      });
    const first = new RelayProcess('one', one, published, slow).start();
    await vi.waitFor(async () => expect((await other.read([LEASE]))[0]).toBeDefined(), { timeout: 5_000 });
    const second = new RelayProcess('other', other, published).start();
    for (let count = 1; count <= ids.length; count++) {
      // Each event takes 12 s, on both clocks.
      for (let second_ = 0; second_ < 12; second_++) {
        await Promise.all([first.clock.advance(1_000), second.clock.advance(1_000)]);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      goOn();
      await vi.waitFor(() => expect(published).toHaveLength(count), { timeout: 5_000 });
    }
    expect(published).toEqual(ids.map((id) => `one ${id}`));
    await Promise.all([first.stop(), second.stop()]);
    await Promise.all([one.close(), other.close()]);
  });
}

const LEASE = 'insidecar||outbox||shop||orders||relay';
