import { countEntries } from '../../state/count-entries.ts';
import { keyAfter } from '../../state/keys.ts';
import type { KeyedEntry, KeyRange } from '../../state/store.ts';
import {
  MAX_COUNTED,
  type QueueEntry,
  type QueueEntryPage,
  type QueueRead,
  type QueueStatus,
} from '../queue-access.ts';
import { invalidCursor } from '../queue-errors.ts';
import type { KnownGroup } from './consumer-groups.ts';
import type { QueueLayout } from './layout.ts';
import type { DurableQueue } from './queue.ts';
import { numberOfKey, queueEntryOf, type StoredQueue, selectedMessages } from './selected-messages.ts';

/** How much is read at once when messages are listed. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** A queue of which the status is asked, at an instant. */
export interface StatusSubject {
  readonly known: KnownGroup;
  readonly queue: DurableQueue;
  readonly now: number;
}

/** How much waits in a queue. Delayed messages that are due are ready. */
export async function statusOf(stored: StoredQueue, { known, queue, now }: StatusSubject): Promise<QueueStatus> {
  const { store, layout } = stored;
  const due = layout.dueRange(now);
  const later = { ...layout.delayedRange, from: due.to };
  const counted = [layout.readyRange, due, later].map((range) => countEntries(store, range, MAX_COUNTED + 1));
  const [first] = (await readQueue(stored, { limit: 1 }, new Set())).entries;
  const [ready = 0, overdue = 0, delayed = 0] = await Promise.all(counted);
  const { inFlight, consumers, isPaused } = queue;
  const { hostId } = queue.lease;
  const { topic, group, keeps } = known;
  return {
    topic,
    group,
    ready: Math.min(MAX_COUNTED, Math.max(0, ready + overdue - inFlight)),
    delayed: Math.min(MAX_COUNTED, delayed),
    inFlight,
    isCapped: ready + overdue > MAX_COUNTED || delayed > MAX_COUNTED,
    ...(first === undefined ? {} : { first: first.message }),
    consumers,
    isPaused,
    keepsDeadLetters: keeps,
    ...(hostId === undefined ? {} : { hostId }),
  };
}

/** The message of a key. `atWork` are the numbers of messages in flight here. */
export async function findMessage(
  stored: StoredQueue,
  key: string,
  atWork: ReadonlySet<number>,
): Promise<QueueEntry | undefined> {
  for await (const entries of selectedMessages(stored, { keys: [key] }))
    for (const entry of entries) return shownEntry(stored, entry, atWork);
  return undefined;
}

function shownEntry(stored: StoredQueue, entry: KeyedEntry, atWork: ReadonlySet<number>): QueueEntry | undefined {
  const shown = queueEntryOf(stored, entry);
  const isOut = shown !== undefined && atWork.has(Number(shown.key));
  return isOut ? { ...shown, state: 'inFlight' } : shown;
}

/** Reads a part of a queue. `atWork` are the numbers of messages in flight here. */
export async function readQueue(
  stored: StoredQueue,
  { state, cursor, limit, reverse = false }: QueueRead,
  atWork: ReadonlySet<number>,
): Promise<QueueEntryPage> {
  const { readyRange, delayedRange } = stored.layout;
  const both = state === 'ready' ? [readyRange] : state === 'delayed' ? [delayedRange] : [readyRange, delayedRange];
  const ranges = reverse ? both.toReversed() : both;
  const entries: QueueEntry[] = [];
  let place = cursor === undefined ? undefined : keyOfCursor(stored.layout, cursor);
  const areAll = (): boolean => state === 'inFlight' && entries.length >= atWork.size;
  for (const range of ranges) {
    if (place !== undefined && !isIn(range, place)) continue;
    const rest = place === undefined ? range : restOf(range, place, reverse);
    place = undefined;
    for await (const entry of scanned(stored, rest, reverse)) {
      if (areAll()) return { entries };
      const shown = shownEntry(stored, entry, atWork);
      if (shown === undefined || (state !== undefined && shown.state !== state)) continue;
      if (entries.length === limit) return { entries, cursor: cursorOf(entries.at(-1)) };
      entries.push(shown);
    }
  }
  return { entries };
}

async function* scanned({ store }: StoredQueue, range: KeyRange, reverse: boolean): AsyncGenerator<KeyedEntry> {
  for (let rest = range; ; ) {
    const page = await store.scan({ ...rest, reverse, limit: 100, maxBytes: MAX_PAGE_BYTES });
    const last = page.at(-1);
    if (last === undefined) return;
    yield* page;
    rest = restOf(rest, last.key, reverse);
  }
}

function isIn({ from, to = '' }: KeyRange, key: string): boolean {
  return key >= from && key < to;
}

/** The rest of a range after a key, in the direction of the scan. */
function restOf(range: KeyRange, key: string, reverse: boolean): KeyRange {
  return reverse ? { ...range, to: key } : { ...range, from: keyAfter(key) };
}

function cursorOf(last: QueueEntry | undefined): string {
  if (last === undefined) return '';
  return last.dueAt === undefined ? last.key : `${last.key}@${last.dueAt}`;
}

function keyOfCursor(layout: QueueLayout, cursor: string): string {
  const [key = '', instant, ...rest] = cursor.split('@');
  const number = numberOfKey(key);
  const dueAt = instant === undefined ? undefined : numberOfKey(instant);
  if (number === undefined || (instant !== undefined && dueAt === undefined) || rest.length > 0)
    throw invalidCursor(cursor);
  return dueAt === undefined ? layout.ready(number) : layout.delayed(dueAt, number);
}
