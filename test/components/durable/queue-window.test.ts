import fc from 'fast-check';
import { expect, test } from 'vitest';
import { QueueWindow } from '../../../src/components/durable/queue-window.ts';
import type { StoredMessage } from '../../../src/components/durable/stored-message.ts';

const keyOf = (number: number): string => String(number).padStart(4, '0');

/** Where each of so many rescans begins, if all has been read up to a new key before each of them; empty for the head. */
function rescansFrom(count: number, stepMs: number): readonly string[] {
  const window = new QueueWindow();
  return Array.from({ length: count }, (_, number) => {
    window.beginReadyScan();
    window.endReadyScan(keyOf(number), true);
    window.rescan(number * stepMs);
    expect(window.isCaughtUp).toBe(false);
    return window.scanKey.slice(0, keyOf(0).length);
  });
}

test('rescans from the head at first, then from where the end was two rescans ago, and from the head every 5 minutes', () => {
  const from = rescansFrom(13, 30_000);
  expect(from.slice(0, 2)).toEqual(['', '']);
  expect(from.slice(2, 10)).toEqual(Array.from({ length: 8 }, (_, at) => keyOf(at)));
  expect(from.slice(10)).toEqual(['', keyOf(9), keyOf(10)]);
});

test('rescans from a minute ago, and up to 90 s, when it does so every second', () => {
  const from = rescansFrom(121, 1_000);
  expect([from[59], from[60], from[89], from[90], from[120]]).toEqual(['', keyOf(0), keyOf(0), keyOf(30), keyOf(60)]);
});

type Step =
  | { readonly do: 'publish' | 'write'; readonly number: number }
  | { readonly do: 'commit' | 'fail' | 'report' | 'settle' | 'putBack' | 'remove'; readonly at: number }
  | { readonly do: 'beginScan' | 'endScan' | 'handOut' };

const number = fc.nat({ max: 60 });
const at = fc.nat({ max: 30 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('publish' as const, 'write' as const), number }),
  fc.record({ do: fc.constantFrom('commit' as const, 'report' as const, 'settle' as const), at }),
  fc.record({ do: fc.constantFrom('fail' as const, 'putBack' as const, 'remove' as const), at }),
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('beginScan' as const, 'endScan' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('handOut' as const) }) },
);

const SCAN_LIMIT = 4;

/** A queue whose store answers scans late, and whose commits are reported late. */
class Run {
  readonly window = new QueueWindow();
  readonly #store = new Set<string>();
  /** Keys of publishes: being written, and written but not reported. */
  readonly #writing: string[] = [];
  readonly #written: string[] = [];
  readonly #out: StoredMessage[] = [];
  readonly #used = new Set<number>();
  #scan: { readonly keys: readonly string[]; readonly isLast: boolean } | undefined;
  /** How often each message was handed out without having come back. */
  readonly deliveries = new Map<string, number>();

  apply(one: Step): void {
    switch (one.do) {
      case 'publish':
      case 'write':
        return this.#write(one.do, one.number);
      case 'commit':
        return this.#commit(one.at);
      case 'fail': {
        const [key] = this.#writing.splice(one.at % Math.max(1, this.#writing.length), 1);
        if (key === undefined) return;
        this.window.endPublish(key);
        return void this.window.noticeKey(key);
      }
      case 'report':
        return this.#report(one.at);
      case 'settle': {
        const [entry] = this.#out.splice(one.at % Math.max(1, this.#out.length), 1);
        if (entry === undefined) return;
        this.#store.delete(entry.key);
        return this.window.forget(entry.key);
      }
      case 'putBack': {
        const [entry] = this.#out.splice(one.at % Math.max(1, this.#out.length), 1);
        if (entry === undefined) return;
        this.deliveries.set(entry.key, 0);
        return this.window.unshift(entry);
      }
      case 'remove':
        return this.#remove(one.at);
      case 'beginScan':
        return this.beginScan();
      case 'endScan':
        return this.endScan();
      default:
        return this.handOut();
    }
  }

  #write(by: 'publish' | 'write', numbered: number): void {
    if (this.#used.has(numbered)) return;
    this.#used.add(numbered);
    const key = keyOf(numbered);
    if (by === 'write') {
      this.#store.add(key);
      return void this.window.noticeKey(key);
    }
    this.window.beginPublish(key);
    this.#writing.push(key);
  }

  #commit(index: number): void {
    const [key] = this.#writing.splice(index % Math.max(1, this.#writing.length), 1);
    if (key === undefined) return;
    this.#store.add(key);
    this.#written.push(key);
  }

  #report(index: number): void {
    const [key] = this.#written.splice(index % Math.max(1, this.#written.length), 1);
    if (key !== undefined && this.window.endPublish(key) && this.window.admitPublished(key)) this.#push(key);
  }

  /** Takes a message out of the queue, as an operator does: only those whose publish was reported, and that are not out. */
  #remove(index: number): void {
    const free = [...this.#store].filter(
      (key) => !this.#written.includes(key) && !this.#out.some((out) => out.key === key),
    );
    const key = free[index % Math.max(1, free.length)];
    if (key === undefined) return;
    this.window.withhold(new Set([key]));
    this.#store.delete(key);
    this.window.forget(key);
  }

  beginScan(): void {
    if (this.#scan !== undefined || this.window.isCaughtUp) return;
    const { scanKey } = this.window;
    this.window.beginReadyScan();
    this.window.beginScan();
    const found = [...this.#store].filter((key) => key >= scanKey).toSorted();
    this.#scan = { keys: found.slice(0, SCAN_LIMIT), isLast: found.length <= SCAN_LIMIT };
  }

  endScan(): void {
    const scan = this.#scan;
    if (scan === undefined) return;
    this.#scan = undefined;
    for (const key of scan.keys) if (!this.window.isLoaded(key)) this.#push(key);
    this.window.endScan();
    this.window.endReadyScan(scan.keys.at(-1), scan.isLast);
  }

  #push(key: string): void {
    const message = { data: Buffer.from('{}') };
    // The window needs no more of a message.
    this.window.push({ key, message } as unknown as StoredMessage);
  }

  handOut(): void {
    const entry = this.window.shift();
    if (entry === undefined) return;
    this.deliveries.set(entry.key, (this.deliveries.get(entry.key) ?? 0) + 1);
    this.#out.push(entry);
  }

  /** Ends all that is under way, and hands everything out. Returns the keys that were never handed out. */
  finish(): readonly string[] {
    while (this.#writing.length > 0) this.#commit(0);
    while (this.#written.length > 0) this.#report(0);
    this.endScan();
    for (let scans = 0; !this.window.isCaughtUp && scans < 100; scans++) {
      this.beginScan();
      this.endScan();
    }
    expect(this.window.isCaughtUp).toBe(true);
    for (let count = 0; count < 200; count++) this.handOut();
    return [...this.#store].filter((key) => (this.deliveries.get(key) ?? 0) === 0);
  }
}

test('whatever is written, hinted at, settled and removed during scans, each message is handed out once', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const run = new Run();
      for (const one of steps) run.apply(one);
      expect(run.finish()).toEqual([]);
      expect([...run.deliveries.values()].every((count) => count <= 1)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
