import type {
  HistoryEventInfo,
  InstanceInfo,
  InstanceReply,
  StartBody,
  WorkflowReply,
  WorkflowsReply,
} from '../../inspector/api/workflows.ts';
import type { Flag } from '../arguments.ts';
import type { Style } from '../output.ts';
import { given } from '../settings.ts';
import type { ActionGroup, Call } from './action.ts';
import { ALL, PAGE_FLAGS, YES } from './flags.ts';
import { payloadLine, payloadText } from './payload.ts';
import type { Column } from './table.ts';
import { instant, lasting, relative } from './text.ts';
import { bulk, filterOf, isOver } from './workflow-bulk.ts';

const STYLES: Readonly<Partial<Record<InstanceInfo['status'], Style>>> = {
  COMPLETED: 'green',
  FAILED: 'red',
  TERMINATED: 'yellow',
  CANCELED: 'yellow',
  SUSPENDED: 'yellow',
  RUNNING: 'cyan',
};

async function list(call: Call): Promise<void> {
  const { flags, api } = call;
  const { status, ...filter } = filterOf(call);
  // Of IDs that were made, which sort by time, the newest comes first.
  const which = { ...filter, status: status?.join(','), reverse: flags.isOn('oldest-first') !== true };
  const reply = await call.page(
    (page) => api.get<WorkflowsReply>('workflows', { ...which, ...page }),
    ({ instances }) => instances.length === 0,
  );
  if (call.isJson) return call.json(reply);
  call.table(reply.instances, columnsOf(call), 'no workflows');
  call.more(reply.cursor);
}

function columnsOf({ now, isStopped }: Call): readonly Column<InstanceInfo>[] {
  return [
    { title: 'ID', of: ({ instanceId }) => instanceId },
    { title: 'NAME', of: ({ name }) => name, isLong: true },
    { title: 'STATUS', of: ({ status }) => status, style: ({ status }) => STYLES[status] },
    { title: 'STARTED', of: ({ createdAt }) => relative(createdAt, now) },
    { title: 'TOOK', of: (one) => (isOver(one.status) ? lasting(one.lastUpdatedAt - one.createdAt) : '') },
    {
      title: 'MORE',
      of: (one) => moreOf(one) ?? (isStopped ? undefined : waitsForCode(one)) ?? waitsForEvents(one),
      isLong: true,
    },
  ];
}

function moreOf({ failure, customStatus }: InstanceInfo): string | undefined {
  return failure === undefined ? customStatus : `${failure.errorType}: ${failure.message}`;
}

/** Of a stopped application nothing has its code. */
function waitsForCode({ missingCode }: InstanceInfo): string | undefined {
  return missingCode && `waits for the code of ${missingCode.map(({ kind, name }) => `${kind} ${name}`).join(', ')}`;
}

function waitsForEvents({ awaitedEvents }: InstanceInfo): string | undefined {
  return awaitedEvents && `waits for event ${awaitedEvents.join(', ')}`;
}

async function show(call: Call): Promise<void> {
  const reply = await call.api.get<WorkflowReply>('workflows/one', { instanceId: call.arg(0) });
  if (call.isJson) return call.json(reply);
  const { instance, input, output, children } = reply;
  call.fields({
    id: instance.instanceId,
    name: instance.name,
    status: instance.status,
    started: instant(instance.createdAt),
    [isOver(instance.status) ? 'ended' : 'last turn']: instant(instance.lastUpdatedAt),
    took: isOver(instance.status) ? lasting(instance.lastUpdatedAt - instance.createdAt) : undefined,
    'custom status': instance.customStatus,
    code: call.isStopped ? undefined : waitsForCode(instance),
    events: waitsForEvents(instance),
    'unread events': instance.unreadEvents?.join(', '),
    parent: instance.parentId,
    'rerun of': instance.rerunOf,
    children: children.length === 0 ? undefined : children.map(childLine).join('\n'),
    input: payloadText(input),
    output: payloadText(output),
    failure: instance.failure && `${instance.failure.errorType}: ${instance.failure.message}`,
    stack: instance.failure?.stackTrace,
  });
}

function childLine({ instanceId, name, status }: InstanceInfo): string {
  return `${instanceId} ${name} ${status}`;
}

async function history(call: Call): Promise<void> {
  const reply = await call.api.get<WorkflowReply>('workflows/one', { instanceId: call.arg(0) });
  if (call.isJson) return call.json({ history: reply.history, isHistoryCut: reply.isHistoryCut });
  const { createdAt } = reply.instance;
  const columns: readonly Column<HistoryEventInfo>[] = [
    { title: 'AFTER', of: ({ at }) => lasting(at - createdAt), isNumber: true },
    { title: 'NUMBER', of: ({ sequence }) => sequence, isNumber: true },
    {
      title: 'EVENT',
      of: ({ type }) => type,
      style: ({ type }) => (type.endsWith('Failed') ? 'red' : undefined),
    },
    { title: 'NAME', of: ({ name, instanceId }) => name ?? instanceId, isLong: true },
    { title: 'ATTEMPT', of: ({ attempt }) => attempt, isNumber: true },
    { title: 'TOOK', of: ({ durationMs }) => (durationMs === undefined ? '' : lasting(durationMs)), isNumber: true },
    { title: 'DATA', of: dataOf, isLong: true },
  ];
  call.table(reply.history, columns, 'no history');
  if (reply.isHistoryCut) call.note('there are more events: only the first ones are shown');
}

function dataOf({ data, failure, dueAt }: HistoryEventInfo): string {
  if (failure !== undefined) return `${failure.errorType}: ${failure.message}`;
  return dueAt === undefined ? payloadLine(data) : `due ${instant(dueAt)}`;
}

/** An action on one instance. */
function one(path: string, done: string) {
  return async (call: Call): Promise<void> => {
    const instanceId = call.arg(0);
    const reply = await call.api.post<object | undefined>(`workflows/${path}`, { instanceId });
    call.done(reply ?? {}, `workflow ${instanceId} ${done}${call.isStopped ? LATER : ''}`);
  };
}

const LATER = ' as soon as the application runs';

async function start(call: Call): Promise<void> {
  const name = call.arg(0);
  const [input, instanceId] = [await call.jsonText('input'), call.flags.text('id')];
  const body: StartBody = { name, ...given('input', input), ...given('instanceId', instanceId) };
  const reply = await call.api.post<InstanceReply>('workflows', body);
  call.done(reply, `workflow ${name} starts as ${reply.instanceId}${call.isStopped ? LATER : ''}`);
}

async function raiseEvent(call: Call): Promise<void> {
  const [instanceId, name] = [call.arg(0), call.arg(1)];
  const data = await call.jsonText('data');
  const body = { instanceId, name, ...(data === undefined ? {} : { data }) };
  const reply = await call.api.post<object | undefined>('workflows/raise-event', body);
  call.done(reply ?? {}, `event ${name} was given to workflow ${instanceId}`);
}

async function terminate(call: Call): Promise<void> {
  const output = await call.jsonText('output');
  if (call.flags.isOn('all') === true) {
    if (output !== undefined) throw call.misuse('--output goes with one ID, not with --all');
    return bulk(call, { path: 'terminate-all', done: 'terminated', ask: 'Terminate', of: 'running' });
  }
  const instanceId = only(call);
  const body = { instanceId, ...(output === undefined ? {} : { output }) };
  const reply = await call.api.post<object | undefined>('workflows/terminate', body);
  call.done(reply ?? {}, `workflow ${instanceId} is terminated`);
}

async function purge(call: Call): Promise<void> {
  if (call.flags.isOn('all') === true)
    return bulk(call, { path: 'purge-all', done: 'removed', ask: 'Remove', of: 'over' });
  const instanceId = only(call);
  const reply = await call.api.post<object | undefined>('workflows/purge', { instanceId });
  call.done(reply ?? {}, `workflow ${instanceId} is removed`);
}

async function rerun(call: Call): Promise<void> {
  const from = fromOf(call);
  const input = await call.jsonText('input');
  const newInstanceId = call.flags.text('new-id');
  if (call.flags.isOn('all') === true) {
    if (typeof from === 'number') throw call.misuse('--from with a number goes with one ID, not with --all');
    if (input !== undefined || newInstanceId !== undefined)
      throw call.misuse('--input and --new-id go with one ID, not with --all');
    return bulk(call, { path: 'rerun-all', done: 'run again', ask: undefined, of: 'over', from });
  }
  const instanceId = only(call);
  const reply = await call.api.post<InstanceReply>('workflows/rerun', {
    instanceId,
    ...(from === undefined ? {} : { from }),
    ...(input === undefined ? {} : { input }),
    ...(newInstanceId === undefined ? {} : { newInstanceId }),
  });
  call.done(reply, `workflow ${instanceId} runs again as ${reply.instanceId}${call.isStopped ? LATER : ''}`);
}

function fromOf(call: Call): 'start' | 'failure' | number | undefined {
  const text = call.flags.text('from');
  if (text === undefined || text === 'start' || text === 'failure') return text;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw call.misuse(`--from must be start, failure or a number of the history: actual is ${JSON.stringify(text)}`);
}

function only(call: Call): string {
  if (call.args.length === 1) return call.arg(0);
  throw call.misuse('which one? Expected an ID, or --all with filters');
}

const FILTERS: readonly Flag[] = [
  { name: 'status', short: 's', value: 'STATUS', help: 'FAILED,RUNNING,… in any case' },
  { name: 'name', value: 'NAME', help: 'of this workflow' },
  { name: 'prefix', value: 'TEXT', help: 'with IDs that begin with it' },
  { name: 'since', value: 'TIME', help: 'started since then: 2h, 7d or a date' },
  { name: 'parent', value: 'ID', help: 'started by this instance' },
];
const INPUT: Flag = { name: 'input', value: 'JSON|@FILE', help: 'of start, and of rerun from the start' };
const ID = { usage: 'ID', takes: [1, 1] } as const;
const ID_OR_ALL = { usage: 'ID|--all', takes: [0, 1] } as const;

/** `insidecar workflows` */
export const WORKFLOWS: ActionGroup = {
  name: 'workflows',
  about: 'start, repeat and manage workflows',
  actions: [
    {
      name: 'list',
      help: 'list instances, from the last ID on',
      flags: [...FILTERS, { name: 'oldest-first', help: 'of list: from the first ID on' }, ...PAGE_FLAGS],
      takes: [0, 0],
      run: list,
    },
    {
      name: 'start',
      usage: 'NAME',
      takes: [1, 1],
      help: 'start an instance of this workflow',
      flags: [INPUT, { name: 'id', value: 'ID', help: 'of start: its instance ID (one is made)' }],
      run: start,
    },
    { name: 'show', ...ID, help: 'show an instance, with input and output', run: show },
    { name: 'history', ...ID, help: 'list what happened in an instance', run: history },
    { name: 'pause', ...ID, help: 'let what comes for it wait', run: one('pause', 'is paused') },
    { name: 'resume', ...ID, help: 'let it go on', run: one('resume', 'is resumed') },
    {
      name: 'cancel',
      ...ID,
      help: 'let it clean up and end, and its children',
      run: one('cancel', 'is being canceled'),
    },
    {
      name: 'terminate',
      ...ID_OR_ALL,
      help: 'end it at once, and its children',
      flags: [...FILTERS, ALL, YES, { name: 'output', value: 'JSON|@FILE', help: 'of terminate: its output' }],
      run: terminate,
    },
    {
      name: 'raise-event',
      usage: 'ID NAME',
      help: 'give it an event',
      flags: [{ name: 'data', value: 'JSON|@FILE', help: 'of raise-event: its data' }],
      takes: [2, 2],
      run: raiseEvent,
    },
    {
      name: 'rerun',
      ...ID_OR_ALL,
      help: 'run it again, as a new one',
      flags: [
        ...FILTERS,
        ALL,
        { name: 'from', value: 'WHERE', help: 'of rerun: start, failure or a NUMBER' },
        INPUT,
        { name: 'new-id', value: 'ID', help: 'of rerun: the ID of the new one' },
      ],
      run: rerun,
    },
    { name: 'purge', ...ID_OR_ALL, help: 'remove an instance that is over', flags: [...FILTERS, ALL, YES], run: purge },
  ],
  notes: [
    'list has the order of the IDs; those that were not given sort by their start.',
    'NUMBER is that of an action in the history.',
  ],
};
