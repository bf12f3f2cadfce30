import { SidecarError } from '../../errors.ts';
import type { WorkflowState } from '../../index.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import type {
  HistoryEventInfo,
  HistoryEventReply,
  InstanceBody,
  InstanceInfo,
  InstanceReply,
  RaiseEventBody,
  RerunBody,
  StartBody,
  WorkflowReply,
  WorkflowsReply,
} from '../api/workflows.ts';
import type { PayloadPlace, PayloadViews } from '../payload.ts';
import type { Query } from '../query.ts';
import type { ApiRoute } from '../route.ts';
import { acts, given, jsonTextIn, reads } from './define.ts';
import { INSTANCE, RAISE, RERUN, START, STATUSES } from './workflow-bodies.ts';

const LIST_PARAMETERS = ['status', 'name', 'prefix', 'since', 'parentId', 'cursor', 'limit', 'reverse'];
const MAX_HISTORY = 10_000;
const MAX_CHILDREN = 100;

/** Workflows: what they did, and what is done with them. */
export function workflowRoutes(views: PayloadViews): readonly ApiRoute[] {
  return [
    reads('workflows', LIST_PARAMETERS, listWorkflows),
    reads('workflows/one', ['instanceId'], (sidecar, query) =>
      readWorkflow(sidecar, query.needed('instanceId'), views),
    ),
    reads('workflows/event', ['instanceId', 'index'], (sidecar, query) => readEvent(sidecar, query, views)),
    ...changes(),
  ];
}

async function listWorkflows({ workflows }: Sidecar, query: Query): Promise<WorkflowsReply> {
  const options = {
    status: query.someOf('status', STATUSES),
    name: query.text('name'),
    prefix: query.text('prefix'),
    since: query.number('since'),
    parentId: query.text('parentId'),
    cursor: query.text('cursor'),
    limit: query.number('limit'),
    reverse: query.flag('reverse'),
  };
  const { instances, ...rest } = await workflows.listPage(given(options));
  return { instances: instances.map(withoutPayloads), ...rest };
}

function withoutPayloads({ input: _input, output: _output, customStatus, ...rest }: WorkflowState): InstanceInfo {
  if (customStatus === undefined) return rest;
  return { ...rest, customStatus: typeof customStatus === 'string' ? customStatus : JSON.stringify(customStatus) };
}

async function readWorkflow({ workflows }: Sidecar, id: string, views: PayloadViews): Promise<WorkflowReply> {
  const { input, output, ...instance } = await workflows.service.view(id);
  const place: PayloadPlace = { kind: 'workflow', name: instance.name };
  const [events, children] = await Promise.all([
    workflows.service.historyAsText(id, MAX_HISTORY + 1),
    workflows.listPage({ parentId: id, limit: MAX_CHILDREN }),
  ]);
  const shown = { input: textView(input, place, views.long), output: textView(output, place, views.long) };
  return {
    instance,
    ...given(shown),
    history: shownHistory(events.slice(0, MAX_HISTORY), { place, view: views.short }),
    isHistoryCut: events.length > MAX_HISTORY,
    children: children.instances.map(withoutPayloads),
  };
}

type View = PayloadViews[keyof PayloadViews];
type EventText = Awaited<ReturnType<Sidecar['workflows']['service']['historyAsText']>>[number];

/** The view of a payload, which may be text that is not JSON. */
function textView(text: string | undefined, place: PayloadPlace, view: View): ReturnType<View> | undefined {
  if (text === undefined || text === '') return undefined;
  return view({ bytes: Buffer.from(text) }, place);
}

function shownHistory(
  events: readonly EventText[],
  { place, view }: { readonly place: PayloadPlace; readonly view: View },
): HistoryEventInfo[] {
  /** The names of activities by the number of their action: results have none. */
  const activities = new Map<number, string>();
  return events.map(({ data: text, ...event }, index) => {
    const { type, sequence = -1, name } = event;
    if (type === 'activityScheduled' && name !== undefined) activities.set(sequence, name);
    const activity = type.startsWith('activity') ? (activities.get(sequence) ?? '') : undefined;
    const of: PayloadPlace = activity === undefined ? place : { kind: 'activity', name: activity };
    const data = textView(text, of, view);
    return { ...event, index, ...(data === undefined ? undefined : { data }) };
  });
}

async function readEvent({ workflows }: Sidecar, query: Query, views: PayloadViews): Promise<HistoryEventReply> {
  const id = query.needed('instanceId');
  const index = query.number('index');
  if (index === undefined) query.needed('index');
  const { name } = await workflows.service.view(id);
  const events = await workflows.service.historyAsText(id, Math.min(index ?? 0, MAX_HISTORY) + 1);
  const shown = shownHistory(events, { place: { kind: 'workflow', name }, view: views.long });
  const event = index === undefined ? undefined : shown[index];
  if (event !== undefined) return { event };
  throw new SidecarError('ERR_NOT_FOUND', `the history of ${JSON.stringify(id)} has no event ${index}`);
}

function changes(): readonly ApiRoute[] {
  const steering = ['pause', 'resume', 'cancel', 'purge'] as const;
  return [
    acts<StartBody>('workflows', START, async ({ workflows }, { name, input, instanceId }): Promise<InstanceReply> => {
      const id = await workflows.service.startInstance(name, jsonTextIn('input', input), given({ instanceId }));
      return { instanceId: id };
    }),
    ...steering.map((operation) =>
      acts<InstanceBody>(`workflows/${operation}`, INSTANCE, async ({ workflows }, { instanceId, output }) => {
        if (output !== undefined)
          throw new SidecarError('ERR_BAD_REQUEST', `body.output is for terminate: ${operation} takes none`);
        await workflows.service[operation](instanceId);
      }),
    ),
    acts<InstanceBody>('workflows/terminate', INSTANCE, ({ workflows }, { instanceId, output }) =>
      workflows.service.terminate(instanceId, jsonTextIn('output', output)),
    ),
    acts<RaiseEventBody>('workflows/raise-event', RAISE, ({ workflows }, { instanceId, name, data }) =>
      workflows.service.raiseEvent(instanceId, name, jsonTextIn('data', data)),
    ),
    acts<RerunBody>('workflows/rerun', RERUN, async ({ workflows }, body): Promise<InstanceReply> => {
      const { instanceId, newInstanceId, from, input } = body;
      const text = jsonTextIn('input', input);
      const options = given({ instanceId: newInstanceId, from, input: text });
      return { instanceId: await workflows.service.rerun(instanceId, options, text) };
    }),
  ];
}
