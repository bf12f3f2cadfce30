import { messageOf } from '../../errors.ts';
import type {
  CountReply,
  DeadLetter,
  DeadLettersReply,
  DiscardBody,
  InspectedQueue,
  QueuedMessageReply,
  RedeliverBody,
  Selection,
} from '../../inspector/api/queues.ts';
import { isJsonType } from '../../util/json-type.ts';
import { didYouMean } from '../../util/suggest.ts';
import type { Flag } from '../arguments.ts';
import { CommandFailure } from '../failure.ts';
import { type ActionGroup, type Call, isJson } from './action.ts';
import type { QueryParameters } from './api-client.ts';
import { ALL, PAGE_FLAGS, PUBSUB, YES } from './flags.ts';
import { payloadLine, payloadText } from './payload.ts';
import { bare, nameOf, queuesOf, splitName, waitingIn } from './queue-names.ts';
import type { Column } from './table.ts';
import { counted, instant, relative } from './text.ts';

/** How many are read at a time to find one. */
const PAGE = 1_000;

function filterOf(call: Call): QueryParameters {
  const { flags } = call;
  return {
    pubsubName: flags.text('pubsub'),
    topic: flags.text('topic'),
    fromTopic: flags.text('from-topic'),
    fromGroup: flags.text('from-group'),
    reason: flags.text('reason'),
    since: call.instant('since'),
    until: call.instant('until'),
  };
}

async function list(call: Call): Promise<void> {
  const { api, now } = call;
  const reply = await call.page(
    (page) => api.get<DeadLettersReply>('dead-letters', { ...filterOf(call), ...page }),
    ({ messages }) => messages.length === 0,
  );
  if (call.isJson) return call.json(reply);
  const columns: readonly Column<DeadLetter>[] = [
    { title: 'KEY', of: ({ key }) => key },
    { title: 'WHEN', of: ({ deadLetter }) => deadLetter && relative(deadLetter.deadAt, now) },
    { title: 'TOPIC', of: ({ queue }) => queue.topic, isLong: true },
    { title: 'FROM', of: ({ deadLetter }) => deadLetter && nameOf(deadLetter), isLong: true },
    { title: 'ATTEMPTS', of: ({ deadLetter }) => deadLetter?.attempts, isNumber: true },
    { title: 'REASON', of: ({ deadLetter }) => deadLetter?.reason, isLong: true, style: () => 'red' },
    { title: 'DATA', of: ({ payload }) => payloadLine(payload), isLong: true },
  ];
  call.table(reply.messages, columns, 'no dead letters');
  call.more(reply.cursor);
}

/** The dead letters with some keys or message IDs. @throws Failure for one that is not there, or is there twice. */
async function lettersOf(call: Call, wanted: readonly string[]): Promise<readonly DeadLetter[]> {
  const found = new Map<string, DeadLetter[]>(wanted.map((name) => [name, []]));
  const known: string[] = [];
  let cursor: string | undefined;
  do {
    const page: DeadLettersReply = await call.api.get('dead-letters', { ...filterOf(call), limit: PAGE, cursor });
    for (const letter of page.messages) {
      if (known.length < PAGE) known.push(letter.key);
      for (const name of new Set([letter.key, letter.messageId])) found.get(name)?.push(letter);
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
  return [...found].map(([name, letters]) => {
    const [letter, other] = letters;
    if (letter === undefined)
      throw new CommandFailure(`there is no dead letter ${JSON.stringify(name)}${didYouMean(name, known)}`);
    if (other !== undefined)
      throw call.misuse(
        `several dead letters are named ${JSON.stringify(name)}: say which with --topic or --from-group`,
      );
    return letter;
  });
}

async function show(call: Call): Promise<void> {
  const [letter] = await lettersOf(call, [call.arg(0)]);
  if (letter === undefined) return;
  const { key, state } = letter;
  const reply = await call.api.get<QueuedMessageReply>('queues/messages/one', { ...bare(letter.queue), key, state });
  if (call.isJson) return call.json(reply);
  const { queue, message } = reply;
  const { deadLetter, attributes } = message;
  call.fields({
    key,
    id: message.messageId,
    queue: nameOf(queue),
    from: deadLetter && nameOf(deadLetter),
    reason: deadLetter?.reason,
    attempts: deadLetter?.attempts,
    'dead since': deadLetter && instant(deadLetter.deadAt),
    published: message.at === undefined ? undefined : instant(message.at),
    trace: message.traceparent,
    ...Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`event ${name}`, textOf(value)])),
    data: payloadText(message.payload),
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

async function redeliver(call: Call): Promise<void> {
  const to = await target(call);
  if (call.flags.isOn('all') === true) {
    if (call.flags.text('data') !== undefined) throw call.misuse('--data goes with one KEY, not with --all');
    return changeAll(call, { path: 'queues/redeliver', more: { to }, what: 'redelivered', ask: undefined });
  }
  const letters = await chosen(call);
  const data = await newData(call, letters);
  const parts = byQueue(letters).map((part) => ({ ...part, to, data }));
  await changeEach(call, parts, { path: 'queues/redeliver', what: 'redelivered' });
}

/** The queue of `--to`. */
async function target(call: Call): Promise<RedeliverBody['to']> {
  const to = call.flags.text('to');
  if (to === undefined) return undefined;
  const { queues } = await queuesOf(call);
  return splitName(
    call,
    to,
    queues.map(({ topic }) => topic),
  );
}

/** The data of `--data`: JSON for a message with JSON. */
async function newData(call: Call, letters: readonly DeadLetter[]): Promise<RedeliverBody['data']> {
  const text = await call.textOrFile('data');
  if (text === undefined) return undefined;
  const [letter, other] = letters;
  if (other !== undefined) throw call.misuse(`--data goes with one KEY: actual are ${letters.length}`);
  const { format, contentType = 'application/json' } = letter?.payload ?? {};
  // Data that is hidden, or shown as base64, does not show whether it is JSON: its type does.
  const isUnknown = format === 'hidden' || format === 'base64';
  const mustBeJson = format === 'json' || (isUnknown && isJsonType(contentType));
  if (mustBeJson && !isJson(text)) throw call.misuse('--data must be JSON, as the data of the dead letter is');
  return { text, isJson: mustBeJson };
}

async function discard(call: Call): Promise<void> {
  if (call.flags.isOn('all') === true)
    return changeAll(call, { path: 'queues/discard', more: {}, what: 'discarded', ask: 'Discard' });
  await changeEach(call, byQueue(await chosen(call)), { path: 'queues/discard', what: 'discarded' });
}

function chosen(call: Call): Promise<readonly DeadLetter[]> {
  if (call.args.length === 0) throw call.misuse('which ones? Expected a KEY of the list, or --all');
  return lettersOf(call, call.args);
}

function byQueue(letters: readonly DeadLetter[]): readonly DiscardBody[] {
  const queues = new Map<string, { readonly queue: DeadLetter['queue']; readonly selection: string[] }>();
  for (const { queue, key } of letters) {
    const name = JSON.stringify([queue.pubsubName, queue.topic, queue.group]);
    const known = queues.get(name) ?? { queue: bare(queue), selection: [] };
    known.selection.push(key);
    queues.set(name, known);
  }
  return [...queues.values()];
}

interface DeadLetterChange {
  readonly path: 'queues/redeliver' | 'queues/discard';
  readonly what: string;
}

interface ChangeOfAll extends DeadLetterChange {
  /** More fields of the body. */
  readonly more: object;
  /** The verb of the question; `undefined` if none is asked. */
  readonly ask: string | undefined;
}

/** Changes all dead letters that the filters mean, queue by queue. */
async function changeAll(call: Call, { path, more, what, ask }: ChangeOfAll): Promise<void> {
  if (call.args.length > 0) throw call.misuse('a KEY does not go with --all');
  const { topic: _topic, pubsubName: _pubsub, fromTopic, fromGroup, ...rest } = filterOf(call);
  const filter = definedOf({ topic: fromTopic, group: fromGroup, ...rest });
  const selection: Selection = Object.keys(filter).length === 0 ? 'all' : filter;
  const { queues } = await call.api.get<DeadLettersReply>('dead-letters', { ...filterOf(call), limit: 1 });
  const meant = queues.filter((queue) => isMeant(call, queue));
  if (ask !== undefined && meant.length > 0) await call.confirm(question(call, ask, meant, selection));
  const parts = meant.map((queue) => ({ queue: bare(queue), selection, ...definedOf(more) }));
  await changeEach(call, parts, { path, what });
}

/**
 * Changes dead letters queue by queue: what fails in one does not keep the others from it.
 *
 * @throws Failure if it failed in some.
 */
async function changeEach(call: Call, parts: readonly DiscardBody[], { path, what }: DeadLetterChange): Promise<void> {
  let count = 0;
  let failed = 0;
  for (const part of parts) {
    try {
      count += (await call.api.post<CountReply>(path, part)).count;
    } catch (error) {
      if (parts.length === 1) throw error;
      failed++;
      call.note(`${nameOf(part.queue)}: ${messageOf(error)}`);
    }
  }
  tell(call, count, what);
  if (failed > 0) throw new CommandFailure(`${failed} of ${parts.length} queues could not be changed`);
}

function isMeant({ flags }: Call, { pubsubName, topic }: InspectedQueue): boolean {
  const [component, wanted] = [flags.text('pubsub'), flags.text('topic')];
  return (component === undefined || component === pubsubName) && (wanted === undefined || wanted === topic);
}

function question({ app }: Call, verb: string, queues: readonly InspectedQueue[], selection: Selection): string {
  const places = queues.map(nameOf).join(', ');
  if (selection !== 'all') return `${verb} the dead letters of ${places} in ${app} that the filters mean for good?`;
  return `${verb} ${waitingIn(queues, 'dead letter')} of ${places} in ${app} for good?`;
}

function tell(call: Call, count: number, what: string): void {
  call.done(
    { count },
    `${counted(count, 'dead letter')} ${what}${call.isStopped && what === 'redelivered' ? LATER : ''}`,
  );
}

const LATER = ': delivered when the application runs';

function definedOf(fields: object): Record<string, never> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Record<string, never>;
}

const FILTERS: readonly Flag[] = [
  PUBSUB,
  { name: 'topic', short: 't', value: 'TOPIC', help: 'kept on this topic' },
  { name: 'from-topic', value: 'TOPIC', help: 'published to this topic' },
  { name: 'from-group', short: 'g', value: 'GROUP', aliases: ['group'], help: 'failed in this group' },
  { name: 'reason', value: 'TEXT', help: 'with this text in the reason' },
  { name: 'since', value: 'TIME', help: 'since then: 2h, 7d or a date' },
  { name: 'until', value: 'TIME', help: 'before then' },
];

/** `insidecar dead-letters` */
export const DEAD_LETTERS: ActionGroup = {
  name: 'dead-letters',
  about: 'redeliver or discard dead letters',
  actions: [
    { name: 'list', help: 'list all dead letters', flags: [...FILTERS, ...PAGE_FLAGS], takes: [0, 0], run: list },
    { name: 'show', usage: 'KEY', help: 'show a dead letter and its data', flags: FILTERS, takes: [1, 1], run: show },
    {
      name: 'redeliver',
      usage: 'KEY…|--all',
      help: 'send it to the group that failed',
      flags: [
        ...FILTERS,
        ALL,
        { name: 'data', value: 'TEXT|@FILE', help: 'of redeliver: new data, for one KEY' },
        { name: 'to', value: 'TOPIC/GROUP', help: 'of redeliver: to another queue' },
      ],
      takes: [0, Number.POSITIVE_INFINITY],
      run: redeliver,
    },
    {
      name: 'discard',
      usage: 'KEY…|--all',
      help: 'remove it for good',
      flags: [...FILTERS, ALL, YES],
      takes: [0, Number.POSITIVE_INFINITY],
      run: discard,
    },
  ],
  notes: ['KEY is that of the list, or the ID of the message.'],
};
