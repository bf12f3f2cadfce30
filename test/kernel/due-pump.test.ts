import { expect, test } from 'vitest';
import { DueIndex, type DuePage } from '../../src/kernel/due-index.ts';
import { DuePump } from '../../src/kernel/due-pump.ts';
import { virtualClock } from '../../src/testing/index.ts';

interface Item {
  readonly id: string;
  readonly at: number;
}

/** A pump on a store whose reads end when the test says so. */
class PumpWorld {
  readonly begun: string[] = [];
  readonly failures: unknown[] = [];
  /** The reads that were begun. */
  reads = 0;
  #end: ((page: DuePage<Item>) => void) | undefined;
  #fail: (error: unknown) => void = () => undefined;
  readonly pump: DuePump<Item>;

  constructor() {
    const index = new DueIndex<Item>({
      idOf: ({ id }) => id,
      readAfter: () => {
        this.reads++;
        return new Promise((resolve, reject) => {
          this.#end = resolve;
          this.#fail = reject;
        });
      },
      isWanted: ({ id }) => !this.begun.includes(id),
      pageSize: 10,
    });
    this.pump = new DuePump<Item>({
      clock: virtualClock({ startAt: 1_000 }),
      index,
      trackRead: () => () => undefined,
      hasRoom: () => true,
      begin: ({ id }) => this.begun.push(id),
      onFailure: (error) => this.failures.push(error),
    });
  }

  /** The read under way ends with the whole store. */
  async end(...ids: readonly string[]): Promise<void> {
    const end = this.#end;
    if (end === undefined) throw new Error('nothing is being read');
    this.#end = undefined;
    end({ entries: ids.map((id) => ({ id, at: 0 })), isLast: true });
    await new Promise((resolve) => setImmediate(resolve));
  }

  async fail(): Promise<void> {
    this.#fail(new Error('no answer'));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('what is due begins although everything is to be read anew during each read', async () => {
  const world = new PumpWorld();
  world.pump.pump();
  for (const id of ['a', 'b', 'c']) {
    world.pump.readAnew();
    world.pump.readAnew();
    await world.end(id);
  }
  expect(world.begun).toEqual(['a', 'b', 'c']);
});

test('a read during which everything was to be read anew is followed by one more', async () => {
  const world = new PumpWorld();
  world.pump.pump();
  world.pump.readAnew();
  await world.end();
  expect(world.reads).toBe(2);
  await world.end('late');
  expect([world.begun, world.reads]).toEqual([['late'], 2]);
});

test('after a read that failed, one that is asked for again is enough', async () => {
  const world = new PumpWorld();
  world.pump.pump();
  world.pump.readAnew();
  await world.fail();
  expect(world.failures).toHaveLength(1);
  world.pump.readAnew();
  await world.end('a');
  expect([world.begun, world.reads]).toEqual([['a'], 2]);
});
