import { setImmediate as tick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TurnQueue } from '../../../../src/blocks/workflow/engine/turn-queue.ts';

/** Turns that run until they are told to end. */
class Turns {
  readonly queue: TurnQueue;
  readonly started: string[] = [];
  readonly #ends: (() => void)[] = [];

  constructor(limit: number) {
    this.queue = new TurnQueue(limit);
  }

  push(name: string, hasBegun: boolean): void {
    const turn = (): Promise<void> => {
      this.started.push(name);
      return new Promise((resolve) => {
        this.#ends.push(() => {
          resolve();
          this.queue.ended();
        });
      });
    };
    this.queue.push({ hasBegun, turn });
  }

  /** Ends the turn that has run longest. */
  end(): void {
    this.#ends.shift()?.();
  }

  count(kind: string): number {
    return this.started.filter((name) => name.startsWith(kind)).length;
  }
}

test('A turn starts at once when nothing else is running', () => {
  const turns = new Turns(10);
  turns.push('new', false);
  expect(turns.started).toEqual(['new']);
});

test('New instances start while a turn is running', async () => {
  const turns = new Turns(10);
  turns.push('begun', true);
  turns.push('new', false);
  await tick();
  expect(turns.started).toEqual(['begun', 'new']);
});

test('Instances that have begun go ahead of new ones', async () => {
  const turns = new Turns(1);
  turns.push('begun 1', true);
  turns.push('new', false);
  turns.push('begun 2', true);
  turns.end();
  expect(turns.started).toEqual(['begun 1', 'begun 2']);
  turns.end();
  expect(turns.started).toEqual(['begun 1', 'begun 2', 'new']);
});

test('New instances start although those that have begun always have work', async () => {
  const turns = new Turns(1);
  turns.push('begun', true);
  for (let number = 0; number < 5; number++) turns.push(`new ${number}`, false);
  for (let number = 0; number < 100; number++) {
    turns.push('begun', true);
    turns.end();
    await tick();
  }
  expect(turns.count('new')).toBe(5);
});

test('Not more turns run than the limit says', async () => {
  const turns = new Turns(300);
  for (let number = 0; number < 1_000; number++) turns.push('begun', true);
  for (let round = 0; round < 10; round++) await tick();
  expect(turns.count('begun')).toBe(300);
});

test('Many new instances start a few at a time, and all of them start', async () => {
  const turns = new Turns(1_000);
  for (let number = 0; number < 2_000; number++) turns.push('new', false);
  for (let round = 0; round < 10; round++) await tick();
  const first = turns.started.length;
  expect(first).toBeLessThan(1_000);
  for (let number = 0; number < first; number++) turns.end();
  for (let round = 0; round < 10; round++) await tick();
  expect(turns.started.length).toBeGreaterThan(first);
  while (turns.started.length < 2_000) {
    turns.end();
    await tick();
  }
});

test('New instances start while turns before them are written, so many of them', async () => {
  const turns = new Turns(1_000);
  for (let number = 0; number < 1_000; number++) turns.push('new', false);
  await tick();
  // The one that starts at once, and those of a tick.
  expect(turns.count('new')).toBe(1 + 64);
  for (let round = 0; round < 10; round++) await tick();
  expect(turns.count('new')).toBe(256);
});
