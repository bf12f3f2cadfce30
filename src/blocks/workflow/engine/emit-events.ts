import type { SidecarEventEmitter, WorkflowInfo } from '../../../events.ts';
import type { Observation, Probe } from '../../../probe.ts';
import type { Logger } from '../../../util/logger.ts';
import { told } from '../../failure.ts';
import type { IncomingEvent } from '../model/events.ts';
import type { WorkflowFailure } from '../model/failure.ts';
import { isFinished } from '../model/instance.ts';
import type { AttemptReport } from '../replay/core.ts';
import type { EventCount } from '../replay/events-at-end.ts';
import type { ActivityToRun } from '../replay/open-actions.ts';
import type { InstanceRecord } from '../storage/record.ts';
import type { CommittedTurn } from './instance-listener.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** A finished attempt of an activity. */
export interface EndedActivity {
  readonly instanceId: string;
  readonly activity: ActivityToRun;
  readonly event: IncomingEvent;
  readonly startedAt: number;
  /** The thrown value, if the attempt threw. */
  readonly thrown?: { readonly value: unknown } | undefined;
}

/** Names of lost events in one line of the log. */
const MAX_LOST_NAMES = 10;

/** Tells that an attempt of an activity begins. */
export function emitActivityStarted(
  { events }: Pick<WorkflowsDeps, 'events'>,
  instanceId: string,
  { name, activityId, attempt }: ActivityToRun,
): void {
  if (events.listenerCount('activityStarted') > 0)
    events.emit('activityStarted', { instanceId, activityName: name, activityId, attempt });
}

/** Emits the outcome of an attempt. */
export function emitActivity(
  { events, clock }: Pick<WorkflowsDeps, 'events' | 'clock'>,
  { instanceId, activity, event, startedAt, thrown }: EndedActivity,
): void {
  const hasFailed = event.type === 'activityFailed';
  if (events.listenerCount(hasFailed ? 'activityFailed' : 'activityCompleted') === 0) return;
  const { name, activityId, attempt } = activity;
  const info = { instanceId, activityName: name, activityId, attempt, durationMs: clock.now() - startedAt };
  if (hasFailed) events.emit('activityFailed', { ...info, ...told({ reason: event.failure.message, thrown }) });
  else events.emit('activityCompleted', info);
}

/** Emits and logs the outcome of a turn. If the run ends with it, the probe sees the whole run now. */
export function emitTurn(deps: Pick<WorkflowsDeps, 'events' | 'logger' | 'probe'>, followed: CommittedTurn): void {
  const ended = deps.probe && endedRun(deps.probe, followed);
  if (ended === undefined) return tellTurn(deps, followed);
  const { record } = followed.plan;
  ended.run(() => tellTurn(deps, followed));
  const { failure, status } = record;
  const isContinued = followed.end.outcome?.kind === 'continued' && !isFinished(status);
  ended.end({
    outcome: isContinued ? 'CONTINUED_AS_NEW' : status,
    failure: failure && { reason: failure.message, thrown: { value: failure } },
  });
}

function endedRun(probe: Probe, { plan, before, end }: CommittedTurn): Observation | undefined {
  const hasEnded = isFinished(plan.record.status) && !isFinished(before.status);
  if (!hasEnded && end.outcome?.kind !== 'continued') return undefined;
  const { name: workflowName, instanceId, trace, startAt } = before;
  return probe.begin({ type: 'workflow', workflowName, instanceId, startedAt: trace?.startedAt ?? startAt, trace });
}

function tellTurn(
  { events, logger }: Pick<WorkflowsDeps, 'events' | 'logger'>,
  { plan, before, failures, lost }: CommittedTurn,
): void {
  const { record } = plan;
  if (before.chunks === 0) tellStarted(events, record);
  for (const child of plan.children) tellStarted(events, child.record);
  for (const failed of failures) tellFailedAttempt({ events, logger }, record, failed);
  if (isFinished(before.status)) return;
  if (lost.length > 0) tellLost(logger, record, lost);
  if (isFinished(record.status)) tellEnded({ events, logger }, record);
}

function tellLost(logger: Logger, { instanceId, name, status }: InstanceRecord, lost: readonly EventCount[]): void {
  const count = lost.reduce((sum, one) => sum + one.count, 0);
  const details = { instanceId, workflowName: name, count, events: lost.slice(0, MAX_LOST_NAMES) };
  const when = isFinished(status) ? 'has ended' : 'continues as new';
  logger.warn(details, `a workflow ${when}, and its code has made no use of events that came: they are gone`);
}

function tellFailedAttempt(
  { events, logger }: Pick<WorkflowsDeps, 'events' | 'logger'>,
  record: InstanceRecord,
  { what: task, attempt, delayMs, failure }: AttemptReport,
): void {
  const { message: reason, stackTrace } = failure;
  const details = { instanceId: record.instanceId, task, attempt, reason, stackTrace };
  if (delayMs !== undefined) {
    logger.warn(details, 'a task of a workflow failed: will be tried again');
    events.emit('workflowTaskRetrying', { ...infoOf(record), task, attempt, delayMs, reason, error: failure });
  } else if (!isCauseOf(failure, record.failure)) logger.warn(details, 'a task of a workflow failed');
}

/** Whether the line about the failed workflow names the task as well. */
function isCauseOf({ stackTrace, message }: WorkflowFailure, ended: WorkflowFailure | undefined): boolean {
  if (ended === undefined) return false;
  return stackTrace === undefined ? ended.message.endsWith(message) : ended.stackTrace?.includes(stackTrace) === true;
}

/** An instance has been stored. */
export function tellStarted(events: SidecarEventEmitter, record: InstanceRecord): void {
  if (events.listenerCount('workflowStarted') > 0) events.emit('workflowStarted', infoOf(record));
}

function tellEnded({ events, logger }: Pick<WorkflowsDeps, 'events' | 'logger'>, record: InstanceRecord): void {
  if (record.failure !== undefined) {
    const { failure } = record;
    const { errorType, message: reason, stackTrace } = failure;
    logger.warn({ ...infoOf(record), errorType, reason, stackTrace }, 'a workflow failed');
    events.emit('workflowFailed', { ...infoOf(record), reason, error: failure });
  } else if (record.status === 'TERMINATED') events.emit('workflowTerminated', infoOf(record));
  else if (record.status === 'CANCELED') events.emit('workflowCanceled', infoOf(record));
  else if (events.listenerCount('workflowCompleted') > 0) events.emit('workflowCompleted', infoOf(record));
}

function infoOf({ instanceId, name, trace }: InstanceRecord): WorkflowInfo {
  const info = { instanceId, workflowName: name };
  if (trace === undefined) return info;
  const { traceparent, tracestate } = trace;
  return { ...info, trace: tracestate === undefined ? { traceparent } : { traceparent, tracestate } };
}
