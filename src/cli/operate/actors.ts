import type {
  ActiveActorInfo,
  ActorReminderInfo,
  ActorReply,
  ActorsReply,
  ReminderReply,
  RemindersReply,
} from '../../inspector/api/actors.ts';
import type { ChangedReply } from '../../inspector/api/queues.ts';
import type { Flag } from '../arguments.ts';
import { CommandFailure } from '../failure.ts';
import type { Action, ActionGroup, Call } from './action.ts';
import { PAGE_FLAGS } from './flags.ts';
import { retries, styleOf } from './jobs.ts';
import { payloadText } from './payload.ts';
import type { Column } from './table.ts';
import { counted, instant, lasting, relative } from './text.ts';

/** The active actors of the process that is asked. */
async function list(call: Call): Promise<void> {
  const { flags, api } = call;
  const limit = flags.integer('limit', { from: 1, to: 1_000 });
  const reply = await api.get<ActorsReply>('actors', { type: flags.text('type'), limit });
  if (call.isJson) return call.json(reply);
  const columns: readonly Column<ActiveActorInfo>[] = [
    { title: 'TYPE', of: ({ actorType }) => actorType, isLong: true },
    { title: 'ID', of: ({ actorId }) => actorId, isLong: true },
    { title: 'CALLS', of: ({ calls }) => calls, isNumber: true },
    { title: 'WAITING', of: ({ waiting }) => waiting, isNumber: true },
  ];
  call.table(reply.actors, columns, 'no active actors in this process');
  if (reply.more > 0) call.note(`and ${reply.more} more: --limit N, or --type`);
}

async function types(call: Call): Promise<void> {
  const reply = await call.api.get<ActorsReply>('actors', { limit: 1 });
  if (call.isJson) return call.json({ types: reply.types });
  const columns: readonly Column<ActorsReply['types'][number]>[] = [
    { title: 'TYPE', of: ({ actorType }) => actorType, isLong: true },
    { title: 'ACTIVE', of: ({ active }) => active, isNumber: true },
  ];
  call.table(reply.types, columns, 'this process hosts no actor types');
}

async function show(call: Call): Promise<void> {
  const actor = { type: call.arg(0), id: call.arg(1) };
  const reply = await call.api.get<ActorReply>('actors/one', actor);
  const reminders = await call.api.get<RemindersReply>('actors/reminders', actor);
  if (call.isJson) return call.json({ ...reply, ...reminders });
  const { active, state, more } = reply;
  call.fields({
    type: actor.type,
    id: actor.id,
    active:
      active === undefined ? 'not in this process' : `${counted(active.calls, 'call')}, ${active.waiting} waiting`,
    reminders: remindersLine(reminders, call.now),
  });
  for (const { key, expiresAt, value } of state)
    call.fields({ [`state ${key}`]: payloadText(value), ends: expiresAt && instant(expiresAt) });
  if (state.length === 0) call.note('it has no state');
  if (more > 0) call.note(`and ${counted(more, 'value')} more`);
}

function remindersLine({ reminders, cursor }: RemindersReply, now: number): string {
  if (reminders.length === 0) return 'none';
  const lines = reminders.map(({ name, nextRunAt }) => `${name}, ${relative(nextRunAt, now)}`);
  return (cursor === undefined ? lines : [...lines, '…']).join('\n');
}

async function reminders(call: Call): Promise<void> {
  const { flags, api, now } = call;
  const actor = { type: flags.text('type'), id: flags.text('id') };
  if (actor.id !== undefined && actor.type === undefined) throw call.misuse('--id needs --type');
  const reply = await call.page(
    (page) => api.get<RemindersReply>('actors/reminders', { ...actor, ...page }),
    (page) => page.reminders.length === 0,
  );
  if (call.isJson) return call.json(reply);
  const columns: readonly Column<ActorReminderInfo>[] = [
    { title: 'TYPE', of: ({ actorType }) => actorType, isLong: true },
    { title: 'ID', of: ({ actorId }) => actorId, isLong: true },
    { title: 'NAME', of: ({ name }) => name, isLong: true },
    { title: 'PERIOD', of: ({ period }) => period ?? 'once' },
    { title: 'NEXT', of: ({ nextRunAt }) => relative(nextRunAt, now) },
    { title: 'RUNS', of: ({ runs }) => runs, isNumber: true },
    {
      title: 'LAST',
      of: ({ lastRun }) => lastRun && `${lastRun.outcome} ${relative(lastRun.endedAt, now)}`,
      style: ({ lastRun }) => styleOf(lastRun?.outcome),
    },
    { title: 'REASON', of: ({ lastRun }) => lastRun?.reason, isLong: true },
  ];
  call.table(reply.reminders, columns, 'no reminders');
  call.more(reply.cursor);
}

/** The reminder that the arguments name. */
function named(call: Call): { readonly type: string; readonly id: string; readonly name: string } {
  return { type: call.arg(0), id: call.arg(1), name: call.arg(2) };
}

async function showReminder(call: Call): Promise<void> {
  const reply = await call.api.get<ReminderReply>('actors/reminders/one', named(call));
  if (call.isJson) return call.json(reply);
  const { reminder, data } = reply;
  const { lastRun } = reminder;
  call.fields({
    type: reminder.actorType,
    id: reminder.actorId,
    name: reminder.name,
    'due time': reminder.dueTime,
    period: reminder.period ?? 'once',
    repeats: reminder.repeats,
    ttl: reminder.ttl,
    retries: reminder.retry && retries(reminder.retry),
    next: instant(reminder.nextRunAt),
    runs: reminder.runs,
    last: lastRun && `${lastRun.outcome} at ${instant(lastRun.endedAt)}, attempt ${lastRun.attempt}`,
    took: lastRun && lasting(lastRun.durationMs),
    reason: lastRun?.reason,
    data: payloadText(data),
  });
}

function changing(change: 'run' | 'delete', doneOf: (call: Call) => string): Action['run'] {
  return async (call) => {
    const reminder = named(call);
    const { type, id, name } = reminder;
    const reply = await call.api.post<ChangedReply>(`actors/reminders/${change}`, reminder);
    const shown = `reminder ${JSON.stringify(name)} of actor ${JSON.stringify(id)} of type ${JSON.stringify(type)}`;
    if (!reply.changed) throw new CommandFailure(`there is no ${shown}`);
    call.done(reply, `${shown} ${doneOf(call)}`);
  };
}

const TYPE: Flag = { name: 'type', value: 'TYPE', help: 'of this actor type' };
const LIMIT = PAGE_FLAGS.filter(({ name }) => name === 'limit');
const REMINDER: Pick<Action, 'usage' | 'takes'> = { usage: 'TYPE ID NAME', takes: [3, 3] };

/** `insidecar actors` */
export const ACTORS: ActionGroup = {
  name: 'actors',
  about: 'look at actors, and manage their reminders',
  actions: [
    { name: 'list', help: 'list active actors, the busiest first', flags: [TYPE, ...LIMIT], takes: [0, 0], run: list },
    { name: 'types', help: 'list the types, and how many are active', takes: [0, 0], run: types },
    { name: 'show', usage: 'TYPE ID', help: 'show the state and reminders of an actor', takes: [2, 2], run: show },
    {
      name: 'reminders',
      help: 'list all reminders',
      flags: [TYPE, { name: 'id', value: 'ID', help: 'of this actor; with --type' }, ...PAGE_FLAGS],
      takes: [0, 0],
      run: reminders,
    },
    { name: 'reminder', ...REMINDER, help: 'show a reminder and its data', run: showReminder },
    {
      name: 'run',
      ...REMINDER,
      help: 'run a reminder now; its times stay',
      run: changing('run', ({ isStopped }) => (isStopped ? 'runs as soon as the application runs' : 'runs now')),
    },
    { name: 'delete', ...REMINDER, help: 'delete a reminder', run: changing('delete', () => 'is deleted') },
  ],
  notes: ['Active actors are those of the process that is asked; state and reminders those of all.'],
};
