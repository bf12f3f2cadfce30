import { beforeEach, expect, test } from 'vitest';
import { encodeQueued } from '../../../src/components/durable/codec.ts';
import { Layout } from '../../../src/components/durable/layout.ts';
import { ReadAhead } from '../../../src/components/durable/read-ahead.ts';
import { MemoryStore } from '../../../src/components/memory/memory-store.ts';
import type { Message } from '../../../src/components/pubsub.ts';
import { CommitBatcher } from '../../../src/kernel/commit-batcher.ts';
import type { KeyedEntry, Scan } from '../../../src/state/store.ts';
import type { Clock } from '../../../src/util/clock.ts';
import { Work } from '../../../src/util/work.ts';
import { patientClock } from '../../support/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';

/** Memory whose next scan of the ready messages has read what there is, but keeps its answer back. */
class SlowStore extends MemoryStore {
  #held: Promise<void> | undefined;
  #release: () => void = () => undefined;
  /** Whether a scan waits. */
  isHolding = false;

  hold(): void {
    this.#held = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  release(): void {
    this.#held = undefined;
    this.#release();
  }

  override async scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    const entries = await super.scan(scan);
    if (scan.from.includes('ready') && this.#held !== undefined) {
      this.isHolding = true;
      await this.#held;
    }
    return entries;
  }
}

const clock = patientClock();
const logger = new RecordingLogger();
const layout = new Layout('pubsub').queue('orders', 'shop');
const work = new Work();
clock.watch(work);

const messageOf = (number: number): Message => ({
  ...{ id: String(number), topic: 'orders', data: Buffer.from('{}'), contentType: 'application/json' },
  ...{ raw: false, metadata: {} },
});

let store: SlowStore;
let ahead: ReadAhead;
beforeEach(() => {
  store = new SlowStore({ clock, logger });
  const commits = new CommitBatcher(store);
  const track = (what: string): (() => void) => work.begin(what);
  ahead = new ReadAhead({
    store,
    commits,
    layout,
    lease: { isSpread: false, handsOut: () => true, mayHandOut: () => true },
    topic: 'orders',
    logger,
    track,
    dispatcher: { capacity: 10, keys: { perKey: Number.POSITIVE_INFINITY }, wake: () => undefined },
  });
});

async function write(number: number): Promise<string> {
  const key = layout.ready(number);
  await store.commit({ put: [{ key, value: encodeQueued({ message: messageOf(number), attempts: 0 }) }] });
  return key;
}

/** The messages that are handed out now. */
function shifted(): string[] {
  const ids: string[] = [];
  for (let entry = ahead.shift(); entry !== undefined; entry = ahead.shift()) ids.push(entry.message.id);
  return ids;
}

// Another host has written a message with a higher number, and so the scan goes past the lower one.
test.each<[how: string, tell: (key: string) => void]>([
  ['that another host tells of', (key) => ahead.noticeKey(key)],
  ['that another host may have written', () => ahead.rescan()],
  [
    'that this host publishes',
    (key) => {
      ahead.beginPublish(key);
      ahead.onPublished(messageOf(10), 10, key);
    },
  ],
])('loads a message %s while a scan passes its place', async (_how, tell) => {
  await write(20);
  store.hold();
  ahead.start(clock);
  await expect.poll(() => store.isHolding).toBe(true);
  const key = await write(10);
  tell(key);
  store.release();
  await clock.settled();
  expect(shifted()).toEqual(['20', '10']);
});

test('rescans from as far back as ever when the wall clock was set forward and back', async () => {
  const start = clock.now();
  let offsetMs = 0;
  let elapsedMs = 0;
  const setClock: Clock = {
    now: () => clock.now() + offsetMs,
    setTimeout: (callback, delayMs) => clock.setTimeout(callback, delayMs),
    monotonic: () => clock.now() - start + elapsedMs,
  };
  ahead.start(setClock);
  for (const number of [10, 20, 30, 40]) {
    await write(number);
    ahead.rescan();
    await clock.settled();
    offsetMs = offsetMs === 0 ? 60_000 : 0;
    elapsedMs += 1_000;
  }
  expect(shifted()).toEqual(['10', '20', '30', '40']);
  // Its publisher was held up for some seconds, and the hint was lost.
  await write(15);
  ahead.rescan();
  await clock.settled();
  expect(shifted()).toEqual(['15']);
});
