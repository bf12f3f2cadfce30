import type { Trace } from '../../../components/pubsub.ts';
import { SidecarError } from '../../../errors.ts';
import { observe } from '../../../probe.ts';
import { isConflictError } from '../../../state/errors.ts';
import { MAX_BATCH_BYTES, type Put } from '../../../state/store.ts';
import { ANYTHING, checkOptions, field, invalidArgument, type OptionFields } from '../../../util/option-fields.ts';
import { tellStarted } from '../engine/emit-events.ts';
import type { Engine } from '../engine/engine.ts';
import type { HistoryEvent } from '../model/events.ts';
import { isFinished } from '../model/instance.ts';
import { canBeInstanceId, checkInstanceId } from '../model/instance-id.ts';
import { notFound } from '../model/not-found.ts';
import type { Payload } from '../model/payload.ts';
import { eventsAgain, openChildren } from '../replay/cut-history.ts';
import { type Chunk, encodeChunk } from '../storage/codec.ts';
import type { Stored } from '../storage/instance-store.ts';
import { newRecord } from '../storage/new-record.ts';
import { encodeRecord, type InstanceRecord } from '../storage/record.ts';
import { duePut } from '../storage/turn-plan.ts';
import { messagePut } from './send.ts';

/** How to run an instance again. @public */
export interface WorkflowRerunOptions {
  /** The ID of the new instance, which no other may have. Default: a UUID. */
  readonly instanceId?: string | undefined;
  /**
   * Where it begins. `start`: at the beginning. `failure`: before the turn in which it failed. A number: before the turn
   * that made the action of this number, which is `sequence` in the history. Default `start`.
   */
  readonly from?: 'start' | 'failure' | number | undefined;
  /** Another input; only from the start. Default: the same. */
  readonly input?: unknown;
}

/** An instance to run again. */
export interface Rerun {
  /** The instance that is over. */
  readonly of: string;
  /** The ID of the new one. */
  readonly instanceId: string;
  readonly from: 'start' | 'failure' | number;
  /** Replaces the input. */
  readonly input: Payload;
}

export const RERUN_FIELDS: OptionFields<WorkflowRerunOptions> = {
  instanceId: ANYTHING,
  from: field(
    (value) => value === 'start' || value === 'failure' || (Number.isInteger(value) && Number(value) > 0),
    '"start", "failure" or the number of an action, from 1',
  ),
  input: ANYTHING,
};

/** Checks options. `newId` makes the ID if none is given. */
export function parseRerun(of: string, options: WorkflowRerunOptions, newId: () => string): Omit<Rerun, 'input'> {
  checkOptions('options of rerun', options, RERUN_FIELDS, invalidArgument);
  const { instanceId = newId(), from = 'start', input } = options;
  checkInstanceId(instanceId);
  if (from !== 'start' && input !== undefined)
    throw invalidArgument(
      'there is an input, and from is not "start": what comes later in the history depends on the input',
      'options.from',
    );
  return { of, instanceId, from };
}

/** The beginning of a new instance. */
interface Beginning {
  /** The part of the history that it has in common with the other one. */
  readonly kept: readonly Chunk[];
  /** The messages that the other one has had since, and that the new one gets again. */
  readonly again: readonly HistoryEvent[];
}

/**
 * Starts a new instance with a part of the history of one that is over: in one commit, whichever hosts own the two. The
 * owner of the new one finds it in the store.
 *
 * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND`, `ERR_INVALID_ARGUMENT`, or `ERR_START_WORKFLOW` of status 409.
 */
export async function rerunInstance(engine: Engine, rerun: Rerun): Promise<void> {
  if (rerun.of === rerun.instanceId) throw conflict(rerun, true);
  const source = await sourceOf(engine, rerun.of);
  const beginning = await beginningOf(engine, source.record, rerun);
  const write = (trace: Trace | undefined): Promise<void> => writeCopy(engine, { rerun, source, beginning, trace });
  const { probe } = engine.deps;
  if (probe === undefined) return write(undefined);
  const start = { type: 'start', workflowName: source.record.name, instanceId: rerun.instanceId } as const;
  await observe(probe, { ...start, by: 'caller', trace: undefined }, ({ trace }) => write(trace));
}

interface Copy {
  readonly rerun: Rerun;
  readonly source: Stored;
  readonly beginning: Beginning;
  readonly trace: Trace | undefined;
}

async function writeCopy(engine: Engine, { rerun, source, beginning, trace }: Copy): Promise<void> {
  const { store, now, deps } = engine;
  const { kept, again } = beginning;
  const { instanceId } = rerun;
  // While events come again nothing may begin whose result is among them: they are held back, as in a pause.
  const isHeld = isPaused(kept) || again.some(({ type }) => type !== 'started');
  const events: readonly HistoryEvent[] = isHeld ? heldBack(again) : again;
  const end = { chunks: kept.length, events: kept.at(-1)?.total ?? 0 };
  const history: Put[] = [
    ...kept.map((chunk, number) => ({ key: store.layout.history(instanceId, number), value: encodeChunk(chunk) })),
    ...(events.length === 0 ? [] : store.historyPuts(instanceId, end, { at: now, events })),
  ];
  const executionId = executionIdOf(engine, source, kept);
  const record: InstanceRecord = {
    ...newRecord({ instanceId, name: source.record.name, now, executionId, trace }),
    status: kept.some(hasBegun) ? 'RUNNING' : 'PENDING',
    chunks: history.length,
    events: end.events + events.length,
    dueAt: 0,
    rerunOf: rerun.of,
  };
  const message = messagePut(engine, instanceId, isHeld ? { type: 'resumed' } : undefined);
  const key = store.layout.instance(instanceId);
  const put = [{ key, value: encodeRecord(record) }, duePut(store.layout, 0, instanceId), message, ...history];
  checkSize(put, rerun);
  const unchanged = { key: store.layout.instance(rerun.of), version: source.version };
  try {
    await store.commit({ require: [{ key, version: 'absent' }, unchanged], put });
  } catch (error) {
    throw isConflictError(error) ? conflict(rerun, error.key === key) : error;
  }
  tellStarted(deps.events, record);
  const done = deps.work.begin('reading of a workflow that runs again');
  void engine.inbox.changed([message.key]).finally(done);
}

async function sourceOf({ store }: Engine, id: string): Promise<Stored> {
  const source = canBeInstanceId(id) ? await store.read(id) : undefined;
  if (source === undefined) throw notFound(id);
  const { status } = source.record;
  if (!isFinished(status)) throw refused(`workflow ${JSON.stringify(id)} is ${status}: expected one that is over`);
  return source;
}

/** The values that code gets by chance follow from this ID: the part that is kept must get the same again. */
function executionIdOf({ deps }: Engine, { record }: Stored, kept: readonly Chunk[]): string {
  return kept.length === 0 ? deps.newId() : record.executionId;
}

async function beginningOf({ store }: Engine, record: InstanceRecord, rerun: Rerun): Promise<Beginning> {
  const { from, input, of } = rerun;
  if (from === 'start') {
    const same = input ?? (await store.inputOf(of));
    return { kept: [], again: [{ type: 'started', input: same }] };
  }
  const chunks: Chunk[] = [];
  for await (const chunk of store.chunks(of)) chunks.push(chunk);
  const cut = from === 'failure' ? failedChunkOf(record) : chunkOfAction(chunks, from, of);
  const kept = chunks.slice(0, cut);
  const dropped = chunks.slice(cut);
  const [child] = openChildren(kept, dropped);
  if (child !== undefined)
    throw refused(
      `workflow ${JSON.stringify(of)} cannot run again from there: its child ${JSON.stringify(child.instanceId)} had not completed; expected an action up to ${child.sequence}, which started it, or "start"`,
    );
  return { kept, again: eventsAgain(kept, dropped) };
}

function failedChunkOf({ instanceId, status, failedChunk }: InstanceRecord): number {
  if (failedChunk !== undefined) return failedChunk;
  throw invalidArgument(
    `workflow ${JSON.stringify(instanceId)} is ${status}, and from is "failure": expected one that has failed`,
  );
}

/** The number of the first value of the turn that made an action. */
function chunkOfAction(chunks: readonly Chunk[], sequence: number, id: string): number {
  let first = 0;
  let last = 0;
  for (const [number, { events, isContinued }] of chunks.entries()) {
    for (const event of events) {
      if (!('sequence' in event)) continue;
      if (event.sequence === sequence) return first;
      last = Math.max(last, event.sequence);
    }
    if (!isContinued) first = number + 1;
  }
  throw invalidArgument(`workflow ${JSON.stringify(id)} has no action ${sequence}: expected one from 1 to ${last}`);
}

function hasBegun({ events }: Chunk): boolean {
  return events.some(({ type }) => type === 'begun');
}

/** Whether a history ends in a pause. */
function isPaused(chunks: readonly Chunk[]): boolean {
  const events = chunks.flatMap((chunk) => chunk.events);
  return events.findLast(({ type }) => type === 'suspended' || type === 'resumed')?.type === 'suspended';
}

/** The start stays in front: views read the input there. */
function heldBack(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  const starts = events.filter(({ type }) => type === 'started');
  return [...starts, { type: 'suspended' }, ...events.filter(({ type }) => type !== 'started')];
}

/** Leaves room for keys, which also count. */
const MAX_COPY_BYTES: number = MAX_BATCH_BYTES * 0.75;

function checkSize(put: readonly Put[], { of }: Rerun): void {
  const bytes = put.reduce((sum, { value }) => sum + value.byteLength, 0);
  if (bytes <= MAX_COPY_BYTES) return;
  throw refused(
    `the history of workflow ${JSON.stringify(of)} has ${bytes} bytes up to there: at most ${MAX_COPY_BYTES} can be copied; expected an earlier action, or "start"`,
  );
}

function conflict({ of, instanceId }: Rerun, isTaken: boolean): SidecarError {
  if (!isTaken) return refused(`workflow ${JSON.stringify(of)} has changed meanwhile`);
  return refused(`a workflow with ID ${JSON.stringify(instanceId)} already exists: expected an ID that is not in use`);
}

function refused(message: string): SidecarError {
  return new SidecarError('ERR_START_WORKFLOW', message, { status: 409 });
}
