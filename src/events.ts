import { EventEmitter } from 'eventemitter3';
import type { WorkflowFailure } from './blocks/workflow/model/failure.ts';
import type { CircuitBreakerChange } from './resiliency/resiliency.ts';
import type { Logger } from './util/logger.ts';

/** What every event about a message tells. @public */
export interface MessageInfo {
  /** The pub/sub component. */
  readonly pubsubName: string;
  /** The topic. */
  readonly topic: string;
  /** The CloudEvent's `id`, or a UUID for a raw payload. */
  readonly messageId: string;
}

/** What every event about a delivery tells. @public */
export interface DeliveryInfo extends MessageInfo {
  /** The route of the application, or the name of the function that was called; empty when nothing was. */
  readonly route: string;
  /** How often the message has been handed out, this time included. */
  readonly attempt: number;
}

/** What every event about something that failed tells. @public */
export interface FailureInfo {
  /** Why, in words. */
  readonly reason: string;
  /** What was thrown, as it was thrown; when nothing was, an `Error` with the reason, such as the HTTP status. */
  readonly error: unknown;
}

/** What every event about a run of a job tells. @public */
export interface JobRunInfo {
  /** The job. */
  readonly jobName: string;
  /** The instant for which the run was scheduled, in milliseconds since 1970. */
  readonly dueAt: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/** What the event about an invocation tells. @public */
export interface InvocationInfo {
  /** As the caller named it. */
  readonly target: string;
  /** The HTTP method. */
  readonly method: string;
  /** What the target answered; 0 when there was no answer. */
  readonly status: number;
  /** Up to the head of the answer. */
  readonly durationMs: number;
}

/** What every event about a workflow tells. @public */
export interface WorkflowInfo {
  /** The instance. */
  readonly instanceId: string;
  /** The workflow that it runs. */
  readonly workflowName: string;
}

/** What every event about a failure that is recorded tells. @public */
export interface WorkflowFailureInfo {
  /** Why, in words. */
  readonly reason: string;
  /** As it is recorded, with the stack: what was thrown may be gone with the process that threw it. */
  readonly failure: WorkflowFailure;
}

/** What every event about an activity of a workflow tells. @public */
export interface ActivityInfo {
  /** The instance that called it. */
  readonly instanceId: string;
  /** The activity. */
  readonly activityName: string;
  /** The number of the call within the workflow. */
  readonly activityId: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/** The events of a sidecar, by name, with what their listeners get. @public */
export interface SidecarEvents {
  /** The component has the message. */
  published: [MessageInfo];
  /** The application has processed it. */
  delivered: [DeliveryInfo & { readonly durationMs: number }];
  /** It will be delivered again, in `delayMs` milliseconds. */
  retrying: [DeliveryInfo & FailureInfo & { readonly delayMs: number }];
  /** It will not be delivered again and went nowhere. */
  dropped: [DeliveryInfo & FailureInfo];
  /** It was published to the dead-letter topic. */
  deadLettered: [DeliveryInfo & FailureInfo & { readonly deadLetterTopic: string }];
  /** A job was scheduled, or replaced another one; `dueAt` is its first run. */
  jobScheduled: [{ readonly jobName: string; readonly dueAt: number }];
  /** A run of a job begins. */
  jobTriggered: [JobRunInfo];
  /** A run has succeeded, and that is recorded. */
  jobDone: [JobRunInfo & { readonly durationMs: number }];
  /** An attempt has failed; the run will be tried again, in `delayMs` milliseconds. */
  jobRetrying: [JobRunInfo & FailureInfo & { readonly delayMs: number }];
  /** A run has failed for good, its retries included; later runs go on. */
  jobFailed: [JobRunInfo & FailureInfo];
  /** A run has failed and its policy is to drop it; later runs go on. */
  jobDropped: [JobRunInfo & FailureInfo];
  /** A job is gone and its name is free. */
  jobGone: [{ readonly jobName: string; readonly reason: 'finished' | 'expired' | 'deleted' }];
  /** A workflow instance was started, as a child of another one or not. */
  workflowStarted: [WorkflowInfo];
  /** A workflow has returned, and that is recorded. */
  workflowCompleted: [WorkflowInfo];
  /** A workflow has failed, and that is recorded. */
  workflowFailed: [WorkflowInfo & WorkflowFailureInfo];
  /** A workflow was terminated, and that is recorded. */
  workflowTerminated: [WorkflowInfo];
  /** An activity has returned; its result is about to be recorded. */
  activityCompleted: [ActivityInfo & { readonly durationMs: number }];
  /** An attempt of an activity has failed; it may be tried again. */
  activityFailed: [ActivityInfo & FailureInfo & { readonly durationMs: number }];
  /** An activity or child workflow will be tried again, in `delayMs` milliseconds; `task` says which one. */
  workflowTaskRetrying: [
    WorkflowInfo &
      WorkflowFailureInfo & {
        readonly task: string;
        readonly attempt: number;
        readonly delayMs: number;
      },
  ];
  /** A target has answered, or failed to. */
  invoked: [InvocationInfo];
  /** The application takes requests; its subscriptions are known. With health checks, whenever it has become well. */
  appReady: [];
  /** Its health checks say that it is well: it is asked for its subscriptions, and gets what waits for it. */
  appHealthy: [];
  /** Its health checks have failed: nothing is sent to it until it is well. */
  appUnhealthy: [{ readonly reason: string }];
  /** A circuit breaker has opened, is half-open, or has closed. */
  circuitBreaker: [CircuitBreakerChange];
  /** A client has shut the sidecar down (`POST /v1.0/shutdown` of `wire: 'dapr'`): it is stopping. */
  shutdownRequested: [];
  /** A subscription receives messages. */
  subscribed: [{ readonly pubsubName: string; readonly topic: string }];
  /** A subscription was not started. */
  subscriptionRefused: [{ readonly pubsubName: string; readonly topic: string; readonly reason: string }];
}

/** Tells of everything that happens; costs nothing without a listener. @public */
export type SidecarEventEmitter = EventEmitter<SidecarEvents>;

/** A listener that throws is a fault of its own: what it was told of has happened all the same. */
class IsolatingEmitter extends EventEmitter<SidecarEvents> {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    super();
    this.#logger = logger;
  }

  override emit<Name extends keyof SidecarEvents>(
    name: Name,
    ...told: EventEmitter.EventArgs<SidecarEvents, Name>
  ): boolean {
    try {
      return super.emit(name, ...told);
    } catch (error) {
      this.#logger.error({ event: name, error }, 'a listener of sidecar.events failed');
      return true;
    }
  }
}

/** Makes the emitter of a sidecar. */
export function eventEmitter(logger: Logger): SidecarEventEmitter {
  return new IsolatingEmitter(logger);
}
