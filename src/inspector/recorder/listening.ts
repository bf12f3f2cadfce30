import type { SidecarEventSource, SidecarEvents } from '../../index.ts';
import type { Counters } from './counters.ts';
import type { MessageLog } from './message-log.ts';
import type { RunLog } from './run-log.ts';

type Listeners = {
  readonly [Name in keyof SidecarEvents]?: (...told: SidecarEvents[Name]) => void;
};

/** Listens until the returned function is called. */
export function listen(events: SidecarEventSource, listeners: Listeners): () => void {
  const entries = Object.entries(listeners) as [keyof SidecarEvents, (...told: unknown[]) => void][];
  for (const [name, listener] of entries) events.on(name, listener);
  return () => {
    for (const [name, listener] of entries) events.off(name, listener);
  };
}

/** Counts what happens. */
export function counting(counters: Counters): Listeners {
  return {
    messagePublished: () => counters.count('published'),
    messageDelivered: ({ durationMs }) => counters.delivered(durationMs),
    messageRetrying: () => counters.count('retrying'),
    messageDropped: () => counters.count('dropped'),
    messageDeadLettered: () => counters.count('deadLettered'),
    jobCompleted: () => counters.count('jobsDone'),
    jobFailed: () => counters.count('jobsFailed'),
    jobDropped: () => counters.count('jobsFailed'),
    workflowStarted: () => counters.count('workflowsStarted'),
    workflowCompleted: () => counters.count('workflowsCompleted'),
    workflowFailed: () => counters.count('workflowsFailed'),
    invocationEnded: ({ status }) => {
      counters.count('calls');
      if (status === 0 || status >= 500) counters.count('callsFailed');
    },
  };
}

/** Records what happens. */
export function recording(messages: MessageLog, runs: RunLog): Listeners {
  return {
    messagePublished: (info, message) => messages.published(info, message),
    messageDelivering: (info, message) => messages.delivering(info, message),
    messageDelivered: (info, message) => messages.delivered(info, message),
    messageRetrying: (info, message) => messages.failed('retrying', info, message),
    messageDropped: (info, message) => messages.failed('dropped', info, message),
    messageDeadLettered: (info, message) => messages.failed('deadLettered', info, message),
    messageUnsettled: (info, message) => messages.failed('unsettled', info, message),
    jobStarted: (info) => void runs.jobBegan(info),
    jobCompleted: (info) => runs.jobEnded('done', info),
    jobRetrying: (info) => runs.jobEnded('retrying', info, info.reason),
    jobFailed: (info) => runs.jobEnded('failed', info, info.reason),
    jobDropped: (info) => runs.jobEnded('dropped', info, info.reason),
    workflowStarted: (info) => runs.workflowStarted(info),
    workflowCompleted: (info) => runs.workflowEnded('completed', info),
    workflowFailed: (info) => runs.workflowEnded('failed', info, info.reason),
    workflowCanceled: (info) => runs.workflowEnded('canceled', info),
    workflowTerminated: (info) => runs.workflowEnded('terminated', info),
    invocationEnded: (info) => runs.called(info),
  };
}
