import type {
  ChangedReply,
  CountReply,
  InspectedQueue,
  QueuedMessage,
  QueuedMessagesReply,
} from '../../inspector/api/queues.ts';
import type { Action, ActionGroup, Call } from './action.ts';
import { PAGE_FLAGS, PUBSUB, YES } from './flags.ts';
import { payloadLine } from './payload.ts';
import { bare, nameOf, queueNamed, queuesNamed, queuesOf, splitName, waitingIn } from './queue-names.ts';
import type { Column } from './table.ts';
import { counted, instant, relative } from './text.ts';

const STATES = ['ready', 'delayed', 'inFlight'] as const;

async function list(call: Call): Promise<void> {
  const reply = await queuesOf(call);
  if (call.isJson) return call.json(reply);
  const { queues, unsupported } = reply;
  call.table(queues, columnsOf(queues, call.now), 'no queues');
  for (const name of unsupported) call.note(`component ${name} gives no access to its queues`);
}

/** The component is named only where there are several. */
function columnsOf(queues: readonly InspectedQueue[], now: number): readonly Column<InspectedQueue>[] {
  const components = new Set(queues.map(({ pubsubName }) => pubsubName));
  const component: Column<InspectedQueue> = { title: 'PUBSUB', of: ({ pubsubName }) => pubsubName };
  return [
    ...(components.size > 1 ? [component] : []),
    { title: 'TOPIC/GROUP', of: nameOf, isLong: true },
    { title: 'READY', of: readyOf, isNumber: true },
    { title: 'DELAYED', of: ({ delayed }) => delayed, isNumber: true },
    { title: 'IN FLIGHT', of: ({ inFlight }) => inFlight, isNumber: true },
    { title: 'CONSUMERS', of: ({ consumers }) => consumers, isNumber: true },
    { title: 'OLDEST', of: ({ oldestAt }) => (oldestAt === undefined ? '' : relative(oldestAt, now)) },
    { title: 'STATE', of: stateOf, style: (queue) => (stateOf(queue) === '' ? undefined : 'yellow') },
  ];
}

function readyOf({ ready, isCapped }: InspectedQueue): string {
  return `${ready}${isCapped ? '+' : ''}`;
}

function stateOf({ isPaused, isAbandoned, isDeadLetter }: InspectedQueue): string {
  const states = [isPaused && 'paused', isDeadLetter && 'dead letters', isAbandoned && 'read by nobody'];
  return states.filter((state) => state !== false).join(', ');
}

async function show(call: Call): Promise<void> {
  const queues = await queuesNamed(call, call.arg(0));
  if (call.isJson) return call.json({ queues });
  for (const [at, queue] of queues.entries()) {
    if (at > 0) call.fields({ '': '' });
    call.fields({
      component: queue.pubsubName,
      topic: queue.topic,
      group: queue.group,
      ready: readyOf(queue),
      delayed: queue.delayed,
      'in flight': queue.inFlight,
      oldest: queue.oldestAt === undefined ? undefined : instant(queue.oldestAt),
      consumers: queue.consumers,
      state: stateOf(queue) || 'active',
      host: queue.hostId,
    });
  }
}

async function messages(call: Call): Promise<void> {
  const { flags, api, now } = call;
  const which = { state: flags.choice('state', STATES), reverse: flags.isOn('reverse') };
  const queue = bare(await queueNamed(call, call.arg(0)));
  const reply = await call.page(
    (page) => api.get<QueuedMessagesReply>('queues/messages', { ...queue, ...which, ...page }),
    (one) => one.messages.length === 0,
  );
  if (call.isJson) return call.json(reply);
  const columns: readonly Column<QueuedMessage>[] = [
    { title: 'KEY', of: ({ key }) => key },
    { title: 'STATE', of: (message) => messageState(message, now) },
    { title: 'PUBLISHED', of: ({ at }) => (at === undefined ? '' : relative(at, now)) },
    { title: 'ATTEMPTS', of: ({ attempts }) => attempts, isNumber: true },
    { title: 'ID', of: ({ messageId }) => messageId, isLong: true },
    { title: 'DATA', of: ({ payload }) => payloadLine(payload), isLong: true },
  ];
  call.table(reply.messages, columns, `no messages in ${nameOf(queue)}`);
  call.more(reply.cursor);
}

function messageState({ state, dueAt }: QueuedMessage, now: number): string {
  if (state === 'inFlight') return 'in flight';
  return dueAt === undefined ? state : `${state}, ${relative(dueAt, now)}`;
}

async function purge(call: Call): Promise<void> {
  const queue = await queueNamed(call, call.arg(0));
  await call.confirm(`Remove ${waitingIn([queue], 'message')} of ${nameOf(queue)} in ${call.app} for good?`);
  const reply = await call.api.post<CountReply>('queues/purge', { queue: bare(queue) });
  call.done(reply, `${counted(reply.count, 'message')} removed from ${nameOf(queue)}`);
}

function pausing(isPaused: boolean): Action['run'] {
  return async (call) => {
    const queue = await queueNamed(call, call.arg(0));
    const reply = await call.api.post<ChangedReply | undefined>(`queues/${isPaused ? 'pause' : 'resume'}`, {
      queue: bare(queue),
    });
    call.done(reply ?? {}, `${nameOf(queue)} is ${isPaused ? 'paused' : 'resumed'}`);
  };
}

async function addGroup(call: Call): Promise<void> {
  const { queues } = await queuesOf(call);
  const name = splitName(
    call,
    call.arg(0),
    queues.map(({ topic }) => topic),
  );
  const pubsubName = call.flags.text('pubsub') ?? onlyComponent(call, queues);
  const reply = await call.api.post<ChangedReply>('queues/add-group', { queue: { pubsubName, ...name } });
  call.done(reply, reply.changed ? `${nameOf(name)} was added` : `${nameOf(name)} was there already`);
}

function onlyComponent(call: Call, queues: readonly InspectedQueue[]): string {
  const names = new Set(queues.map(({ pubsubName }) => pubsubName));
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return only;
  throw call.misuse(`the component is missing: --pubsub ${[...names].join(' or ') || 'NAME'}`);
}

async function removeGroup(call: Call): Promise<void> {
  const queue = await queueNamed(call, call.arg(0));
  await call.confirm(`Remove the group ${nameOf(queue)} in ${call.app} and its ${waitingIn([queue], 'message')}?`);
  const reply = await call.api.post<ChangedReply>('queues/remove-group', { queue: bare(queue) });
  call.done(reply, reply.changed ? `${nameOf(queue)} was removed` : `there is no group ${nameOf(queue)}`);
}

const NAME = 'TOPIC[/GROUP]';

/** `insidecar queues` */
export const QUEUES: ActionGroup = {
  name: 'queues',
  about: 'manage queues and their messages',
  actions: [
    { name: 'list', help: 'list all queues', flags: [PUBSUB], takes: [0, 0], run: list },
    { name: 'show', usage: NAME, help: 'show a queue', flags: [PUBSUB], takes: [1, 1], run: show },
    {
      name: 'messages',
      usage: NAME,
      help: 'list its messages; none is consumed',
      flags: [
        PUBSUB,
        { name: 'state', value: 'STATE', help: 'of messages: ready, delayed or inFlight' },
        { name: 'reverse', help: 'of messages: the last one first' },
        ...PAGE_FLAGS,
      ],
      takes: [1, 1],
      run: messages,
    },
    { name: 'purge', usage: NAME, help: 'remove all messages', flags: [PUBSUB, YES], takes: [1, 1], run: purge },
    {
      name: 'pause',
      usage: NAME,
      help: 'hand out no more messages',
      flags: [PUBSUB],
      takes: [1, 1],
      run: pausing(true),
    },
    {
      name: 'resume',
      usage: NAME,
      help: 'hand out messages again',
      flags: [PUBSUB],
      takes: [1, 1],
      run: pausing(false),
    },
    {
      name: 'add-group',
      usage: 'TOPIC/GROUP',
      help: 'add a group that collects messages',
      flags: [PUBSUB],
      takes: [1, 1],
      run: addGroup,
    },
    {
      name: 'remove-group',
      usage: NAME,
      help: 'remove a group and its messages',
      flags: [PUBSUB, YES],
      takes: [1, 1],
      run: removeGroup,
    },
  ],
  notes: ['GROUP is the app ID, followed by / and the name of the group if it has one.'],
};
