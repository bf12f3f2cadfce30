import type { Trace } from '../../../components/pubsub.ts';
import { type StoredTrace, storedTrace, traceOfStored } from '../../../util/stored-trace.ts';
import type { WorkflowFailure } from '../model/failure.ts';
import { isFinished, type WorkflowStatus } from '../model/instance.ts';
import type { Payload } from '../model/payload.ts';
import { decodeText, encodeText, lengthOf, type PayloadReader } from './codec.ts';

/** The parent of a child workflow. */
export interface Parent {
  readonly instanceId: string;
  /** The run of the parent that started it: after the parent's `continueAsNew`, no code waits for the child. */
  readonly executionId: string;
  readonly sequence: number;
}

/** The trace of a run's start, and when the run began. */
export interface RunTrace extends Trace {
  readonly startedAt: number;
}

/**
 * The record of an instance, stored besides its history. A turn that only changes `updatedAt`, `chunks` and `events`
 * does not write it, see `mayBeBehind`.
 */
export interface InstanceRecord {
  readonly instanceId: string;
  readonly name: string;
  readonly status: WorkflowStatus;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The ID of this run of the code: it changes with `continueAsNew` and when the instance ID is reused. */
  readonly executionId: string;
  /** When the code may begin. */
  readonly startAt: number;
  readonly parent: Parent | undefined;
  /** The instance with which it has the beginning of its history in common. */
  readonly rerunOf: string | undefined;
  /** Whether it has started children. */
  readonly hasChildren: boolean;
  /** The number of stored values of its history. */
  readonly chunks: number;
  readonly events: number;
  /** The instant of its due entry; 0 if it has work now. */
  readonly dueAt: number | undefined;
  readonly output: Payload;
  readonly failure: WorkflowFailure | undefined;
  /**
   * The history value with the turn in which the instance failed. Earlier values no longer change, and only results of
   * activities may follow. So the instance can be resumed from there, see `eventsAgain`.
   */
  readonly failedChunk: number | undefined;
  readonly customStatus: string | undefined;
  /** `undefined` if its start was not traced. */
  readonly trace: RunTrace | undefined;
}

/** Names are short, as they are stored often. Absent fields have their default value. */
interface Header {
  readonly n: string;
  readonly s: number;
  readonly c: number;
  readonly u: number;
  readonly e: string;
  readonly a?: number;
  readonly p?: readonly [string, string, number];
  readonly k?: 1;
  readonly h: number;
  readonly v: number;
  readonly d?: number;
  readonly f?: WorkflowFailure;
  readonly x?: number;
  /** When the traced run began, and the trace of its start. */
  readonly t?: readonly [number, ...StoredTrace];
  readonly r?: string;
  /** The lengths of output and custom status. */
  readonly o: number;
  readonly m: number;
}

/**
 * Whether later turns may have added to the history without writing the record. This is possible only while activities
 * run; the record of an idle or finished instance is up to date.
 */
export function mayBeBehind({ status, dueAt, chunks }: InstanceRecord): boolean {
  return dueAt === 0 && chunks > 0 && !isFinished(status);
}

/** Whether a turn may skip the record, since the history implies its changes. */
export function isToldByHistory(before: InstanceRecord, after: InstanceRecord): boolean {
  return (
    mayBeBehind(before) &&
    after.dueAt === 0 &&
    after.status === before.status &&
    after.executionId === before.executionId &&
    after.customStatus === before.customStatus &&
    after.hasChildren === before.hasChildren
  );
}

const STATUSES: readonly WorkflowStatus[] = [
  'PENDING',
  'RUNNING',
  'SUSPENDED',
  'COMPLETED',
  'FAILED',
  'TERMINATED',
  'CANCELED',
];

export function encodeRecord(record: InstanceRecord): Uint8Array {
  const { name, status, createdAt, updatedAt, executionId, chunks, events, output, customStatus } = record;
  const header = `{"n":${JSON.stringify(name)},"s":${STATUSES.indexOf(status)},"c":${createdAt},"u":${updatedAt},"e":${JSON.stringify(executionId)},"h":${chunks},"v":${events},"o":${lengthOf(output)},"m":${lengthOf(customStatus)}${rareFields(record)}}`;
  return encodeText(header, (output ?? '') + (customStatus ?? ''));
}

function rareFields(record: InstanceRecord): string {
  const { startAt, createdAt, parent, rerunOf, hasChildren, dueAt, failure, failedChunk, trace } = record;
  let text = '';
  if (startAt !== createdAt) text += `,"a":${startAt}`;
  if (parent !== undefined) text += `,"p":${JSON.stringify([parent.instanceId, parent.executionId, parent.sequence])}`;
  if (hasChildren) text += ',"k":1';
  if (dueAt !== undefined) text += `,"d":${dueAt}`;
  if (failure !== undefined) text += `,"f":${JSON.stringify(failure)}`;
  if (failedChunk !== undefined) text += `,"x":${failedChunk}`;
  if (trace !== undefined) text += `,"t":${JSON.stringify([trace.startedAt, ...storedTrace(trace)])}`;
  if (rerunOf !== undefined) text += `,"r":${JSON.stringify(rerunOf)}`;
  return text;
}

export function decodeRecord(key: string, value: Uint8Array, instanceId: string): InstanceRecord {
  return decodeText(key, value, (header, payloads) => readRecord(header as Header, payloads, instanceId));
}

function readRecord(header: Header, payloads: PayloadReader, instanceId: string): InstanceRecord {
  const { n, s, c, u, e, a, p, k, h, v, d, f, x, t, r, o, m } = header;
  if (typeof n !== 'string' || ![c, u, h, v].every(Number.isSafeInteger))
    throw new Error('a header with name, instants and counts was expected');
  return {
    instanceId,
    name: n,
    status: STATUSES[s] ?? 'RUNNING',
    createdAt: c,
    updatedAt: u,
    executionId: e,
    startAt: a ?? c,
    parent: p === undefined ? undefined : { instanceId: p[0], executionId: p[1], sequence: p[2] },
    hasChildren: k === 1,
    chunks: h,
    events: v,
    dueAt: d,
    failure: f,
    failedChunk: x,
    rerunOf: r,
    output: payloads.take(o),
    customStatus: payloads.take(m),
    trace: t && runTraceOf(t),
  };
}

function runTraceOf([startedAt, ...stored]: readonly [number, ...StoredTrace]): RunTrace {
  return { startedAt, ...traceOfStored(stored) };
}
