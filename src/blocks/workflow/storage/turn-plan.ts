import type { Trace } from '../../../components/pubsub.ts';
import type { Batch, Precondition, Put } from '../../../state/store.ts';
import { LAST_INSTANT } from '../../../util/clock.ts';
import type { ChildStarted, HistoryEvent, IncomingEvent } from '../model/events.ts';
import { ALREADY_EXISTS, CANCELED_CHILD, TERMINATED_CHILD, type WorkflowFailure } from '../model/failure.ts';
import { isFinished, type WorkflowStatus } from '../model/instance.ts';
import { MAX_CHILD_ID_LENGTH } from '../model/instance-id.ts';
import type { RunOutcome } from '../model/run-outcome.ts';
import type { Descendant } from './descendants.ts';
import type { HistoryEnd, InstanceStore, Stored } from './instance-store.ts';
import type { WorkflowLayout } from './layout.ts';
import { newRecord, runTrace } from './new-record.ts';
import { encodeRecord, type InstanceRecord, isToldByHistory } from './record.ts';

/** A message to another instance, written with the turn that causes it. */
export interface Outgoing {
  readonly to: string;
  readonly key: string;
  readonly event: IncomingEvent | undefined;
  readonly executionId: string;
  readonly parentId?: string;
}

/** A child, written with the turn that starts it. */
export interface NewChild {
  readonly record: InstanceRecord;
  readonly input: ChildStarted['input'];
}

/** The result of a turn. */
export interface TurnResult {
  readonly now: number;
  /** The events to append to the history. */
  readonly events: readonly HistoryEvent[];
  readonly outcome: RunOutcome | undefined;
  readonly status: WorkflowStatus;
  readonly customStatus: string | undefined;
  readonly activityCount: number;
  readonly nextAt: number | undefined;
  /** The ID of the next run, if there is one. */
  readonly nextExecutionId: string;
  /** The first events of the next run. */
  readonly nextEvents: readonly HistoryEvent[];
  readonly children: readonly ChildStarted[];
  /** The traces of the starts of the children, in their order. */
  readonly childTraces?: readonly (Trace | undefined)[] | undefined;
  /** The trace of the next run's start. */
  readonly nextTrace?: Trace | undefined;
  /** Descendants to terminate together with the instance. */
  readonly orphans: readonly Descendant[];
  /** The IDs of children to cancel together with the instance. */
  readonly canceled: readonly string[];
  /** The retention of a finished instance. */
  readonly retentionMs: number | undefined;
  /** Whether the parent is notified of the end. */
  readonly tellsParent: boolean;
}

/** The facts about instances that are known without a read. */
export interface KnownInstances {
  /** Whether this host owns an instance. */
  owns(id: string): boolean;
  /** Whether an instance is known to be running. */
  isActive(id: string): boolean;
}

/** The context of a plan. */
export interface PlanContext {
  readonly store: InstanceStore;
  readonly newId: () => string;
  readonly instances: KnownInstances;
  /** Finished instances whose IDs are reused by children. */
  readonly replaced: ReadonlyMap<string, Stored>;
  /** IDs known to be in use. */
  readonly occupied: ReadonlySet<string>;
}

/** The batch of a plan: its committer may add to it. */
interface PlannedBatch extends Batch {
  readonly require: readonly Precondition[];
  readonly put: Put[];
  readonly delete: string[];
}

/** A commit and its effects. */
export interface TurnPlan {
  readonly batch: PlannedBatch;
  readonly record: InstanceRecord;
  /** Whether the record is written; if not, the turn only adds to the history. */
  readonly isRecordWritten: boolean;
  readonly children: readonly NewChild[];
  readonly outgoing: readonly Outgoing[];
}

/** Plans the commit of a turn: history, record, due entry, children, messages. */
export function planTurn(
  before: Stored | undefined,
  base: InstanceRecord,
  end: TurnResult,
  context: PlanContext,
): TurnPlan {
  const { store } = context;
  const put: Put[] = [];
  const remove: string[] = [];
  const require: Precondition[] = [];
  const hadChildren = base.hasChildren || before?.record.hasChildren === true;
  const record = recordAfter(base, end, { put, store, hadChildren });
  const { instanceId } = record;
  const isRecordWritten = before === undefined || !isToldByHistory(before.record, record);
  if (isRecordWritten) put.push({ key: store.layout.instance(instanceId), value: encodeRecord(record) });
  moveDue(before?.record, record, { put, remove, store });
  if (before !== undefined) remove.push(...leftOf(before.record, record, store));
  const outgoing: Outgoing[] = [];
  const children = planChildren(record, end, { put, remove, require, outgoing, context });
  planMessages(record, end, outgoing, context);
  for (const message of outgoing) put.push(store.messagePut(message.key, message));
  return { batch: { require, put, delete: remove }, record, isRecordWritten, children, outgoing };
}

function recordAfter(
  base: InstanceRecord,
  end: TurnResult,
  { put, store, hadChildren }: Pick<Changes, 'put' | 'store'> & { readonly hadChildren: boolean },
): InstanceRecord {
  const { outcome, now } = end;
  const isNext = outcome?.kind === 'continued';
  const events = isNext ? end.nextEvents : end.events;
  const start = isNext ? NO_HISTORY : base;
  const history = events.length === 0 ? [] : store.historyPuts(base.instanceId, start, { at: now, events });
  for (const one of history) put.push(one);
  const { instanceId, name, createdAt, startAt, parent, rerunOf } = base;
  return {
    instanceId,
    name,
    createdAt,
    startAt,
    parent,
    rerunOf,
    status: end.status,
    // The event came too late.
    updatedAt: events.length === 0 && end.status === base.status ? base.updatedAt : now,
    executionId: isNext ? end.nextExecutionId : base.executionId,
    hasChildren: hadChildren || end.children.length > 0,
    chunks: start.chunks + history.length,
    events: start.events + events.length,
    dueAt: dueAfter(end),
    output: outcome?.kind === 'completed' || outcome?.kind === 'terminated' ? outcome.output : undefined,
    failure: outcome?.kind === 'failed' ? outcome.failure : undefined,
    failedChunk: outcome?.kind === 'failed' ? failedChunkOf(base) : undefined,
    customStatus: end.customStatus,
    trace: isNext ? runTrace(end.nextTrace, now) : base.trace,
  };
}

/** The chunk of the turn in which the instance failed: that turn is the first to find it unfinished. */
function failedChunkOf({ status, chunks, failedChunk }: InstanceRecord): number | undefined {
  return isFinished(status) ? failedChunk : chunks;
}

const NO_HISTORY: HistoryEnd = { chunks: 0, events: 0 };

/** When the instance is due next. While activities run, its due entry stays at 0. */
function dueAfter({ status, outcome, activityCount, nextAt, now, retentionMs }: TurnResult): number | undefined {
  if (activityCount > 0 || outcome?.kind === 'continued') return 0;
  // A retention may be of any length, an instant may not.
  if (isFinished(status)) return retentionMs === undefined ? undefined : Math.min(now + retentionMs, LAST_INSTANT);
  return nextAt;
}

interface Changes {
  readonly put: Put[];
  readonly remove: string[];
  readonly store: InstanceStore;
}

function moveDue(
  before: InstanceRecord | undefined,
  { instanceId, dueAt }: InstanceRecord,
  { put, remove, store }: Changes,
): void {
  if (before?.dueAt === dueAt) return;
  if (before?.dueAt !== undefined) remove.push(store.layout.due(before.dueAt, instanceId));
  if (dueAt !== undefined) put.push(duePut(store.layout, dueAt, instanceId));
}

/** The due entry of an instance. */
export function duePut(layout: WorkflowLayout, at: number, instanceId: string): Put {
  return { key: layout.due(at, instanceId), value: EMPTY };
}

/** A due entry has all its data in its key. The one byte is the format. */
const EMPTY: Uint8Array = Uint8Array.of(1);

interface ChildChanges extends Omit<Changes, 'store'> {
  readonly require: Precondition[];
  readonly outgoing: Outgoing[];
  readonly context: PlanContext;
}

function planChildren(parent: InstanceRecord, end: TurnResult, changes: ChildChanges): readonly NewChild[] {
  if (end.children.length === 0) return end.children as readonly never[];
  const { context, outgoing } = changes;
  const children: NewChild[] = [];
  const seen = new Set<string>([parent.instanceId]);
  for (const [index, started] of end.children.entries()) {
    const { instanceId: id, sequence } = started;
    const failure = refusalOf(id, seen, context);
    seen.add(id);
    if (failure === undefined) {
      children.push(planChild(parent, { ...started, trace: end.childTraces?.[index] }, end.now, changes));
      // Hints to the owner of the instance that it has work.
      if (!context.instances.owns(id)) outgoing.push(messageTo(id, undefined, '', end, context));
    } else
      outgoing.push(
        messageTo(parent.instanceId, { type: 'childFailed', sequence, failure }, parent.executionId, end, context),
      );
  }
  return children;
}

function refusalOf(
  id: string,
  seen: ReadonlySet<string>,
  { instances, occupied }: PlanContext,
): WorkflowFailure | undefined {
  if (id.length > MAX_CHILD_ID_LENGTH)
    return {
      errorType: 'InstanceIdError',
      message: `its instance ID would have ${id.length} characters: at most ${MAX_CHILD_ID_LENGTH} are accepted`,
    };
  if (!seen.has(id) && !instances.isActive(id) && !occupied.has(id)) return undefined;
  return { errorType: ALREADY_EXISTS, message: `an active workflow with ID ${JSON.stringify(id)} already exists` };
}

function planChild(
  parent: InstanceRecord,
  started: ChildStarted & { readonly trace: Trace | undefined },
  now: number,
  { put, remove, require, context }: ChildChanges,
): NewChild {
  const { store, newId, replaced } = context;
  const { instanceId, name, input, sequence, trace } = started;
  const old = replaced.get(instanceId);
  const history = store.historyPuts(instanceId, NO_HISTORY, { at: now, events: [{ type: 'started', input }] });
  const record: InstanceRecord = {
    ...newRecord({ instanceId, name, now, executionId: newId(), trace }),
    parent: { instanceId: parent.instanceId, executionId: parent.executionId, sequence },
    hasChildren: old?.record.hasChildren === true,
    chunks: history.length,
    events: 1,
    dueAt: 0,
  };
  const key = store.layout.instance(instanceId);
  require.push({ key, version: old?.version ?? 'absent' });
  put.push(...history, { key, value: encodeRecord(record) });
  put.push({ key: store.layout.child(parent.instanceId, instanceId), value: EMPTY });
  moveDue(old?.record, record, { put, remove, store });
  if (old !== undefined) remove.push(...leftOf(old.record, record, store));
  return { record, input };
}

/** Keys of an earlier turn that this turn replaces: the former history, and the entry at a former parent. */
function leftOf(old: InstanceRecord, { chunks, parent }: InstanceRecord, store: InstanceStore): string[] {
  const keys = store.historyKeys(old.instanceId, chunks, old.chunks);
  if (old.parent !== undefined && old.parent.instanceId !== parent?.instanceId)
    keys.push(store.layout.child(old.parent.instanceId, old.instanceId));
  return keys;
}

/** Notifies the parent of the end, and terminates or cancels the children. */
function planMessages(record: InstanceRecord, end: TurnResult, outgoing: Outgoing[], context: PlanContext): void {
  for (const { instanceId, parentId } of end.orphans)
    outgoing.push({ ...messageTo(instanceId, ORPHAN_ENDS, ORPHANED, end, context), parentId });
  for (const id of end.canceled)
    outgoing.push({ ...messageTo(id, { type: 'cancelRequested' }, '', end, context), parentId: record.instanceId });
  const { parent } = record;
  if (parent === undefined || !end.tellsParent || !isFinished(record.status)) return;
  const event = resultOf(record, parent.sequence);
  outgoing.push(messageTo(parent.instanceId, event, parent.executionId, end, context));
}

/** Used in place of a run's ID: the parent was terminated and is not notified. */
export const ORPHANED = '*';

/** Its event. */
export const ORPHAN_ENDS: IncomingEvent = { type: 'terminated', output: undefined };

function resultOf({ status, output, failure, instanceId }: InstanceRecord, sequence: number): IncomingEvent {
  if (status === 'COMPLETED') return { type: 'childCompleted', sequence, output };
  const errorType = status === 'CANCELED' ? CANCELED_CHILD : TERMINATED_CHILD;
  const message = `workflow ${JSON.stringify(instanceId)} was ${status.toLowerCase()}`;
  return { type: 'childFailed', sequence, failure: failure ?? { errorType, message } };
}

function messageTo(
  to: string,
  event: IncomingEvent | undefined,
  executionId: string,
  { now }: TurnResult,
  { store, newId }: PlanContext,
): Outgoing {
  return { to, key: store.messageKey(to, now, newId()), event, executionId };
}
