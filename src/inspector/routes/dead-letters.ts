import { SidecarError } from '../../errors.ts';
import type { DeadLetterOrigin, QueueEntry, QueueRef } from '../../index.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import { checkLimit } from '../../util/check-limit.ts';
import type { DeadLetter, DeadLettersReply, InspectedQueue } from '../api/queues.ts';
import type { PayloadViews } from '../payload.ts';
import type { Query } from '../query.ts';
import type { ApiRoute } from '../route.ts';
import { given, reads } from './define.ts';
import { queueInfos } from './queue-infos.ts';
import { queuedMessage } from './queued-message.ts';

const PARAMETERS = [
  ...['pubsubName', 'topic', 'fromTopic', 'fromGroup', 'reason', 'since', 'until'],
  ...['cursor', 'limit', 'reverse'],
];
const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;
/** The most messages that are read for one page: a filter may mean few of them. */
const MAX_LOOKED_AT = 5_000;

/** The dead letters of all queues that have some. */
export function deadLetterRoutes(views: PayloadViews): readonly ApiRoute[] {
  return [reads('dead-letters', PARAMETERS, (sidecar, query) => listDeadLetters(sidecar, query, views))];
}

async function listDeadLetters(sidecar: Sidecar, query: Query, views: PayloadViews): Promise<DeadLettersReply> {
  const filter = { pubsubName: query.text('pubsubName'), topic: query.text('topic') };
  const { queues: all } = await queueInfos(sidecar, filter);
  const queues = all.filter(({ isDeadLetter }) => isDeadLetter).sort(inOrder);
  const found = await readAll(sidecar, queues, { ...pageOf(query), isMeant: filterOf(query) });
  const messages = found.messages.map(({ queue, entry }) => ({ queue, ...queuedMessage(entry, views.short) }));
  return { messages, queues, ...(found.place === undefined ? undefined : { cursor: cursorOf(found.place) }) };
}

/** A place in the dead letters of all queues: in a queue, after the page that has this cursor. */
interface Place {
  readonly queue: QueueRef;
  readonly cursor?: string | undefined;
}

interface Page {
  readonly limit: number;
  readonly reverse: boolean;
  readonly from: Place | undefined;
  readonly isMeant: (entry: QueueEntry) => boolean;
}

interface Found {
  readonly messages: readonly { readonly queue: DeadLetter['queue']; readonly entry: QueueEntry }[];
  /** Where the next page begins. */
  readonly place?: Place;
}

/** Reads queue after queue, until the page is full or enough was read. */
async function readAll(sidecar: Sidecar, queues: readonly InspectedQueue[], page: Page): Promise<Found> {
  const { limit, reverse, from, isMeant } = page;
  const messages: Found['messages'][number][] = [];
  let lookedAt = 0;
  for (const info of queues) {
    const order = from === undefined ? 1 : inOrder(info, from.queue);
    if (order < 0) continue;
    const queue = { pubsubName: info.pubsubName, topic: info.topic, group: info.group };
    let cursor = order === 0 ? from?.cursor : undefined;
    do {
      if (messages.length >= limit || lookedAt >= MAX_LOOKED_AT) return { messages, place: { queue, cursor } };
      const part = given({ limit: limit - messages.length, reverse, cursor });
      const read = await sidecar.pubsub.queues.operations.read(queue, part);
      lookedAt += read.messages.length;
      for (const entry of read.messages) if (isMeant(entry)) messages.push({ queue, entry });
      cursor = read.cursor;
    } while (cursor !== undefined);
  }
  return { messages };
}

function pageOf(query: Query): Omit<Page, 'isMeant'> {
  const limit = query.number('limit') ?? DEFAULT_LIMIT;
  checkLimit(limit, MAX_LIMIT);
  const cursor = query.text('cursor');
  return { limit, reverse: query.flag('reverse') ?? false, from: cursor === undefined ? undefined : placeOf(cursor) };
}

/** Whether a message is meant; those without an origin only if nothing is asked of it. */
function filterOf(query: Query): (entry: QueueEntry) => boolean {
  const [topic, group, reason] = [query.text('fromTopic'), query.text('fromGroup'), query.text('reason')];
  const [since, until] = [query.number('since'), query.number('until')];
  if ([topic, group, reason, since, until].every((one) => one === undefined)) return () => true;
  const isMeant = ({ deadAt, ...origin }: DeadLetterOrigin): boolean =>
    (topic === undefined || origin.topic === topic) &&
    (group === undefined || origin.group === group) &&
    (reason === undefined || origin.reason.includes(reason)) &&
    (since === undefined || deadAt >= since) &&
    (until === undefined || deadAt < until);
  return ({ message: { deadLetter } }) => deadLetter !== undefined && isMeant(deadLetter);
}

function inOrder(one: QueueRef, other: QueueRef): number {
  for (const name of ['pubsubName', 'topic', 'group'] as const)
    if (one[name] !== other[name]) return one[name] < other[name] ? -1 : 1;
  return 0;
}

function cursorOf({ queue: { pubsubName, topic, group }, cursor }: Place): string {
  return Buffer.from(JSON.stringify([pubsubName, topic, group, ...(cursor === undefined ? [] : [cursor])])).toString(
    'base64url',
  );
}

function placeOf(cursor: string): Place {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(parts) && parts.every((part) => typeof part === 'string')) {
      const [pubsubName, topic, group, inner] = parts as readonly string[];
      if (pubsubName !== undefined && topic !== undefined && group !== undefined)
        return { queue: { pubsubName, topic, group }, cursor: inner };
    }
  } catch {}
  throw new SidecarError(
    'ERR_BAD_REQUEST',
    `cursor is ${JSON.stringify(cursor)}: expected the cursor of the page before`,
  );
}
