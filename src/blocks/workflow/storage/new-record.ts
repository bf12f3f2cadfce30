import type { Trace } from '../../../components/pubsub.ts';
import type { InstanceRecord, RunTrace } from './record.ts';

/** The record of an instance that has not begun. */
export function newRecord(of: {
  readonly instanceId: string;
  readonly name: string;
  readonly now: number;
  readonly executionId: string;
  readonly startAt?: number;
  readonly trace?: Trace | undefined;
}): InstanceRecord {
  const { instanceId, name, now, executionId, startAt = now, trace } = of;
  return {
    instanceId,
    name,
    status: 'PENDING',
    createdAt: now,
    updatedAt: now,
    executionId,
    startAt,
    parent: undefined,
    rerunOf: undefined,
    hasChildren: false,
    chunks: 0,
    events: 0,
    dueAt: undefined,
    output: undefined,
    failure: undefined,
    failedChunk: undefined,
    customStatus: undefined,
    trace: runTrace(trace, startAt),
  };
}

/** The trace of a run's start. */
export function runTrace(trace: Trace | undefined, startedAt: number): RunTrace | undefined {
  return trace && { ...trace, startedAt };
}
