import { SidecarError } from '../../errors.ts';
import type { DeadLetterFilter, QueueRef } from '../../index.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import { isJsonType } from '../../util/json-type.ts';
import { nameOfKind } from '../../util/known-fields.ts';
import { type JsonSchema, optionsSchema } from '../../util/options-schema.ts';
import { validator } from '../../util/schema.ts';
import type {
  ChangedReply,
  CountReply,
  DiscardBody,
  QueueBody,
  QueuedMessageReply,
  QueuedMessagesReply,
  RedeliverBody,
  Selection,
} from '../api/queues.ts';
import { messageView } from '../message-view.ts';
import type { PayloadViews } from '../payload.ts';
import type { Query } from '../query.ts';
import type { ApiRoute } from '../route.ts';
import { acts, given, jsonIn, NAME, reads, TEXT } from './define.ts';
import { changingQueue, queueInfos } from './queue-infos.ts';
import { queuedMessage } from './queued-message.ts';

const QUEUE_PARAMETERS = ['pubsubName', 'topic', 'group'];
const STATES = ['ready', 'delayed', 'inFlight'] as const;

const QUEUE = optionsSchema<QueueRef>({ pubsubName: NAME, topic: NAME, group: NAME }, ['pubsubName', 'topic', 'group']);
const BOOLEAN = { type: 'boolean' } as const;
const INSTANT = { type: 'number' } as const;
const filterProblem = validator(
  optionsSchema<DeadLetterFilter>({ topic: TEXT, group: TEXT, reason: TEXT, since: INSTANT, until: INSTANT }),
  'body.selection',
);
/** Checked apart: what is wrong with one of several forms is hard to tell. */
const SELECTION: JsonSchema = {};
const QUEUE_BODY = optionsSchema<QueueBody>({ queue: QUEUE }, ['queue']);

/** Reads and changes messages that wait in queues. */
export function queueRoutes(views: PayloadViews): readonly ApiRoute[] {
  return [
    reads('queues', ['pubsubName', 'topic'], (sidecar, query) =>
      queueInfos(sidecar, { pubsubName: query.text('pubsubName'), topic: query.text('topic') }),
    ),
    reads('queues/messages', [...QUEUE_PARAMETERS, 'state', 'cursor', 'limit', 'reverse'], (sidecar, query) =>
      listMessages(sidecar, query, views),
    ),
    reads('queues/messages/one', [...QUEUE_PARAMETERS, 'key', 'state'], (sidecar, query) =>
      readMessage(sidecar, query, views),
    ),
    ...changes(views),
  ];
}

async function listMessages(sidecar: Sidecar, query: Query, views: PayloadViews): Promise<QueuedMessagesReply> {
  const options = {
    state: query.oneOf('state', STATES),
    cursor: query.text('cursor'),
    limit: query.number('limit'),
    reverse: query.flag('reverse'),
  };
  const { messages, ...rest } = await sidecar.pubsub.queues.operations.read(queueIn(query), given(options));
  return { messages: messages.map((entry) => queuedMessage(entry, views.short)), ...rest };
}

async function readMessage(sidecar: Sidecar, query: Query, views: PayloadViews): Promise<QueuedMessageReply> {
  const queue = queueIn(query);
  const key = query.needed('key');
  const entry = await sidecar.pubsub.queues.operations.find(queue, key);
  if (entry === undefined) throw gone(key);
  return { queue, message: queuedMessage(entry, views.long) };
}

function queueIn(query: Query): QueueRef {
  return { pubsubName: query.needed('pubsubName'), topic: query.needed('topic'), group: query.needed('group') };
}

function gone(key: string): SidecarError {
  return new SidecarError('ERR_NOT_FOUND', `message ${JSON.stringify(key)} is no longer in this queue`);
}

/** Something that is done with a whole queue. */
type QueueChange = (pubsub: Sidecar['pubsub'], queue: QueueRef) => Promise<ChangedReply | CountReply>;

const CHANGES: readonly (readonly [path: string, change: QueueChange])[] = [
  ['queues/purge', async (pubsub, queue) => ({ count: await pubsub.queues.operations.discard(queue, 'all') })],
  ['queues/pause', (pubsub, queue) => setPaused(pubsub, queue, true)],
  ['queues/resume', (pubsub, queue) => setPaused(pubsub, queue, false)],
  ['queues/add-group', async (pubsub, queue) => ({ changed: await pubsub.queues.addGroup(queue) })],
  ['queues/remove-group', async (pubsub, queue) => ({ changed: await pubsub.queues.removeGroup(queue) })],
];

function changes(views: PayloadViews): readonly ApiRoute[] {
  const redeliver = optionsSchema<RedeliverBody>(
    {
      queue: QUEUE,
      selection: SELECTION,
      data: optionsSchema<NonNullable<RedeliverBody['data']>>({ text: TEXT, isJson: BOOLEAN }, ['text', 'isJson']),
      to: optionsSchema<NonNullable<RedeliverBody['to']>>({ topic: NAME, group: NAME }, ['topic', 'group']),
    },
    ['queue', 'selection'],
  );
  const discard = optionsSchema<DiscardBody>({ queue: QUEUE, selection: SELECTION }, ['queue', 'selection']);
  return [
    acts<RedeliverBody>('queues/redeliver', redeliver, async (sidecar, body) => ({
      count: await changingQueue(sidecar, body.queue, () => redeliverMessages(sidecar, body, views)),
    })),
    acts<DiscardBody>('queues/discard', discard, async (sidecar, { queue, selection }) => ({
      count: await changingQueue(sidecar, queue, () =>
        sidecar.pubsub.queues.operations.discard(queue, checked(selection)),
      ),
    })),
    ...CHANGES.map(([path, change]) =>
      acts<QueueBody>(path, QUEUE_BODY, (sidecar, { queue }) =>
        changingQueue(sidecar, queue, () => change(sidecar.pubsub, queue)),
      ),
    ),
  ];
}

async function setPaused(pubsub: Sidecar['pubsub'], queue: QueueRef, isPaused: boolean): Promise<ChangedReply> {
  const { pubsubName, topic, group } = queue;
  const before = (await pubsub.queues.list({ pubsubName, topic })).find((state) => state.group === group);
  await pubsub.queues.operations.setPaused(queue, isPaused);
  return { changed: before?.isPaused !== isPaused };
}

function checked(selection: Selection): Selection {
  const isList = Array.isArray(selection);
  const problem =
    selection === 'all' || (isList && selection.every((key) => typeof key === 'string'))
      ? undefined
      : isList || typeof selection !== 'object' || selection === null
        ? `body.selection is ${nameOfKind(selection)}: expected a list of keys, "all" or an object`
        : filterProblem(selection);
  if (problem === undefined) return selection;
  throw new SidecarError('ERR_BAD_REQUEST', problem);
}

async function redeliverMessages({ pubsub }: Sidecar, body: RedeliverBody, views: PayloadViews): Promise<number> {
  const { queue, data, to } = body;
  const selection = checked(body.selection);
  const [key] = Array.isArray(selection) ? (selection as readonly string[]) : [];
  const isJson = data?.isJson === true && key !== undefined && (await hasJson(pubsub, { queue, key, views }));
  return pubsub.queues.operations.redeliver(queue, selection, given({ data: data && newData(data, isJson), to }));
}

/** New data. Where the message has JSON, JSON stays the text that it is: its numbers keep every digit. */
function newData({ text, isJson }: NonNullable<RedeliverBody['data']>, replacesJson: boolean): unknown {
  if (!isJson) return text;
  const value = jsonIn('data.text', text);
  return replacesJson ? Buffer.from(text) : value;
}

async function hasJson(
  pubsub: Sidecar['pubsub'],
  { queue, key, views }: { readonly queue: QueueRef; readonly key: string; readonly views: PayloadViews },
): Promise<boolean> {
  const entry = await pubsub.queues.operations.find(queue, key);
  if (entry === undefined) return false;
  const { message } = entry;
  const { datacontenttype = 'application/json' } = messageView(message, views.short).attributes;
  return isJsonType(message.raw ? message.contentType : String(datacontenttype));
}
