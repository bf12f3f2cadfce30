import type { SidecarEventEmitter, SidecarEvents } from '../../index.ts';
import type { Counters } from './counters.ts';
import type { MessageLog } from './message-log.ts';
import type { RunLog } from './run-log.ts';

type Listeners = {
  readonly [Name in keyof SidecarEvents]?: (...told: SidecarEvents[Name]) => void;
};

/** Listens until the returned function is called. */
export function listen(events: SidecarEventEmitter, listeners: Listeners): () => void {
  const entries = Object.entries(listeners) as [keyof SidecarEvents, (...told: unknown[]) => void][];
  for (const [name, listener] of entries) events.on(name, listener);
  return () => {
    for (const [name, listener] of entries) events.off(name, listener);
  };
}

/** Counts what happens. */
export function counting(counters: Counters): Listeners {
  return {
    published: () => counters.count('published'),
    delivered: ({ durationMs }) => counters.delivered(durationMs),
    retrying: () => counters.count('retrying'),
    dropped: () => counters.count('dropped'),
    deadLettered: () => counters.count('deadLettered'),
    jobDone: () => counters.count('jobsDone'),
    jobFailed: () => counters.count('jobsFailed'),
    jobDropped: () => counters.count('jobsFailed'),
    workflowStarted: () => counters.count('workflowsStarted'),
    workflowCompleted: () => counters.count('workflowsCompleted'),
    workflowFailed: () => counters.count('workflowsFailed'),
    invoked: ({ status }) => {
      counters.count('calls');
      if (status === 0 || status >= 500) counters.count('callsFailed');
    },
  };
}

/** Records what happens. */
export function recording(messages: MessageLog, runs: RunLog): Listeners {
  return {
    published: (info, message) => messages.published(info, message),
    delivering: (info, message) => messages.delivering(info, message),
    delivered: (info, message) => messages.delivered(info, message),
    retrying: (info, message) => messages.failed('retrying', info, message),
    dropped: (info, message) => messages.failed('dropped', info, message),
    deadLettered: (info, message) => messages.failed('deadLettered', info, message),
    unsettled: (info, message) => messages.failed('unsettled', info, message),
    jobTriggered: (info) => void runs.jobBegan(info),
    jobDone: (info) => runs.jobEnded('done', info),
    jobRetrying: (info) => runs.jobEnded('retrying', info, info.reason),
    jobFailed: (info) => runs.jobEnded('failed', info, info.reason),
    jobDropped: (info) => runs.jobEnded('dropped', info, info.reason),
    workflowStarted: (info) => runs.workflowStarted(info),
    workflowCompleted: (info) => runs.workflowEnded('completed', info),
    workflowFailed: (info) => runs.workflowEnded('failed', info, info.reason),
    workflowCanceled: (info) => runs.workflowEnded('canceled', info),
    workflowTerminated: (info) => runs.workflowEnded('terminated', info),
    invoked: (info) => runs.called(info),
  };
}
