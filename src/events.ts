import { EventEmitter } from 'eventemitter3';
import type { WorkflowFailure } from './blocks/workflow/model/failure.ts';
import type { Message, Trace } from './components/pubsub.ts';
import type { CircuitBreakerChange } from './resiliency/resiliency.ts';
import { checkFunction, fieldNames } from './util/known-fields.ts';
import type { Logger } from './util/logger.ts';
import { invalidArgument } from './util/option-fields.ts';
import { type Apart, outside } from './util/outside.ts';
import { shown } from './util/shown.ts';
import { didYouMean } from './util/suggest.ts';

/** Common to all events about a message. @public */
export interface MessageInfo {
  /** The pub/sub component. */
  readonly pubsubName: string;
  /** The topic. */
  readonly topic: string;
  /** The CloudEvent's `id`, or a UUID for a raw payload. */
  readonly messageId: string;
}

/** Common to all events about a delivery. @public */
export interface DeliveryInfo extends MessageInfo {
  /** The consumer group: the app ID, followed by `/` and the group's name if it has one. */
  readonly group: string;
  /** The route of the application; `/` for a function in code; empty if nothing was called. */
  readonly route: string;
  /** The number of this delivery attempt, from 1. */
  readonly attempt: number;
}

/** Common to all events about a failure. @public */
export interface FailureInfo {
  /** A description of the reason. */
  readonly reason: string;
  /** The thrown value; if nothing was thrown, an `Error` with the reason, such as the HTTP status. */
  readonly error: unknown;
}

/** Common to all events about a run of a job. @public */
export interface JobRunInfo {
  /** The job. */
  readonly jobName: string;
  /** The instant for which the run was scheduled, in milliseconds since 1970. */
  readonly dueAt: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** The trace of the code that scheduled the job, if it was traced. */
  readonly trace?: Trace;
}

/** Common to all events about an event of an input binding. @public */
export interface BindingEventInfo {
  /** The name of the binding. */
  readonly bindingName: string;
  /** Time that the delivery took, with all attempts of its policy. */
  readonly durationMs: number;
}

/** The payload of the event about an invocation. @public */
export interface InvocationInfo {
  /** `in`: the own application was called; `out`: anything else. */
  readonly direction: 'in' | 'out';
  /** The target, as named by the caller. */
  readonly target: string;
  /** The app ID of the caller of the own application, as far as it is known. */
  readonly caller?: string;
  /** The HTTP method. */
  readonly method: string;
  /** The path at the target, without the query. */
  readonly path: string;
  /** The status of the response; 0 if there was none. */
  readonly status: number;
  /** The number of attempts; 0 if a circuit breaker is open. */
  readonly attempts: number;
  /** Time until the head of the response. */
  readonly durationMs: number;
  /** The trace of the call, if it is traced. */
  readonly trace?: Trace;
}

/** Common to all events about a workflow. @public */
export interface WorkflowInfo {
  /** The ID of the instance. */
  readonly instanceId: string;
  /** The name of its workflow. */
  readonly workflowName: string;
  /** The trace of its start, if that was traced. */
  readonly trace?: Trace;
}

/** Common to all events about a recorded failure. @public */
export interface WorkflowFailureInfo extends FailureInfo {
  /** The recorded failure, with its stack. The thrown value itself may be lost with the process that threw it. */
  readonly error: WorkflowFailure;
}

/** Common to all events about an activity of a workflow. @public */
export interface ActivityInfo {
  /** The ID of the instance that called the activity. */
  readonly instanceId: string;
  /** The name of the activity. */
  readonly activityName: string;
  /** The number of the call within the workflow. */
  readonly activityId: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/**
 * The events of a sidecar by name, with the arguments of their listeners. The first one can be logged. Events about a
 * message pass the message, with its data, as the second one. Events about a failure have `reason` and `error`.
 *
 * @public
 */
export interface SidecarEvents {
  /** The component has accepted the message. It may have been delivered before. */
  messagePublished: [info: MessageInfo, message: Message];
  /** An attempt begins: the application or the function is called. Messages without a route skip this. */
  messageDelivering: [info: DeliveryInfo, message: Message];
  /** The application has processed the message and this is recorded: it will not be delivered to the group again. */
  messageDelivered: [info: DeliveryInfo & { readonly durationMs: number }, message: Message];
  /** The message will be delivered again in `delayMs` milliseconds. */
  messageRetrying: [info: DeliveryInfo & FailureInfo & { readonly delayMs: number }, message: Message];
  /** The message will not be delivered again and was not dead-lettered. */
  messageDropped: [info: DeliveryInfo & FailureInfo, message: Message];
  /** The message was published to the dead-letter topic. */
  messageDeadLettered: [info: DeliveryInfo & FailureInfo & { readonly deadLetterTopic: string }, message: Message];
  /** The outcome of an attempt could not be recorded, or a stop has ended it: the message will be delivered again. */
  messageUnsettled: [info: DeliveryInfo & FailureInfo, message: Message];
  /** A job was scheduled or replaced another one; `dueAt` is its first run. */
  jobScheduled: [{ readonly jobName: string; readonly dueAt: number }];
  /** A run of a job begins. */
  jobStarted: [JobRunInfo];
  /** A run has succeeded and is recorded. */
  jobCompleted: [JobRunInfo & { readonly durationMs: number }];
  /** An attempt has failed; the run will be retried in `delayMs` milliseconds. */
  jobRetrying: [JobRunInfo & FailureInfo & { readonly delayMs: number }];
  /** A run has failed for good, after its retries; later runs still happen. */
  jobFailed: [JobRunInfo & FailureInfo];
  /** A run has failed and its policy is to drop it; later runs still happen. */
  jobDropped: [JobRunInfo & FailureInfo];
  /** A job has ended and its name is free. */
  jobEnded: [{ readonly jobName: string; readonly reason: 'finished' | 'expired' | 'deleted' }];
  /** An event of an input binding was accepted. */
  bindingDelivered: [BindingEventInfo];
  /** An event of an input binding was not accepted. The binding decides whether it comes again. */
  bindingFailed: [BindingEventInfo & FailureInfo];
  /** A workflow instance was started, at top level or as a child. */
  workflowStarted: [WorkflowInfo];
  /** A workflow has returned and its result is recorded. */
  workflowCompleted: [WorkflowInfo];
  /** A workflow has failed and its failure is recorded. */
  workflowFailed: [WorkflowInfo & WorkflowFailureInfo];
  /** A workflow has ended because it was canceled, after it has cleaned up, and this is recorded. */
  workflowCanceled: [WorkflowInfo];
  /** A workflow was terminated and this is recorded. */
  workflowTerminated: [WorkflowInfo];
  /** An attempt of an activity begins. */
  activityStarted: [ActivityInfo];
  /** An activity has returned; its result is about to be recorded. */
  activityCompleted: [ActivityInfo & { readonly durationMs: number }];
  /** An attempt of an activity has failed; it may be retried. */
  activityFailed: [ActivityInfo & FailureInfo & { readonly durationMs: number }];
  /** An activity or child workflow will be retried in `delayMs` milliseconds; `task` names it. */
  workflowTaskRetrying: [
    WorkflowInfo &
      WorkflowFailureInfo & {
        readonly task: string;
        readonly attempt: number;
        readonly delayMs: number;
      },
  ];
  /** A target has responded or failed to respond; also the own application, if it was called through the sidecar. */
  invocationEnded: [InvocationInfo];
  /** The application takes requests and its subscriptions are known. With health checks: on each return to health. */
  appReady: [];
  /** The application's health checks pass: its subscriptions are requested and pending messages delivered. */
  appHealthy: [];
  /** The application's health checks fail: nothing is sent to it until they pass. */
  appUnhealthy: [FailureInfo];
  /** A circuit breaker is now open, half-open or closed. */
  circuitBreakerChanged: [CircuitBreakerChange];
  /**
   * A client has requested shutdown (`POST /v1.0/shutdown` of `wire: 'dapr'`): the sidecar is stopping. `isForced` with
   * the header `dapr-force-shutdown: true`: the process should end without waiting for the stop.
   */
  shutdownRequested: [{ readonly isForced: boolean }];
  /** The sidecar is stopping: it takes no more requests, and ends what is under way. */
  sidecarStopping: [];
  /** A subscription was started. */
  subscriptionStarted: [{ readonly pubsubName: string; readonly topic: string }];
  /** A subscription was not started. */
  subscriptionRefused: [FailureInfo & { readonly pubsubName: string; readonly topic: string }];
}

/**
 * The events of a sidecar, for listeners. They cost nothing without one. An error of a listener is logged, and affects
 * neither the work that the event reports nor other listeners.
 *
 * @example
 * ```ts
 * sidecar.events.on('messageDeadLettered', ({ topic, messageId, reason }) => console.warn(topic, messageId, reason));
 * ```
 * @public
 */
export interface SidecarEventSource {
  /** Calls a function with each event of a name. */
  on<Name extends keyof SidecarEvents>(name: Name, listener: (...args: SidecarEvents[Name]) => void): this;
  /** Calls a function with the next event of a name. */
  once<Name extends keyof SidecarEvents>(name: Name, listener: (...args: SidecarEvents[Name]) => void): this;
  /** Calls a function no more. */
  off<Name extends keyof SidecarEvents>(name: Name, listener: (...args: SidecarEvents[Name]) => void): this;
}

/** Their names; the compiler checks that none is missing. */
export const EVENT_NAMES: ReadonlySet<string> = fieldNames<SidecarEvents>({
  messagePublished: true,
  messageDelivering: true,
  messageDelivered: true,
  messageRetrying: true,
  messageDropped: true,
  messageDeadLettered: true,
  messageUnsettled: true,
  jobScheduled: true,
  jobStarted: true,
  jobCompleted: true,
  jobRetrying: true,
  jobFailed: true,
  jobDropped: true,
  jobEnded: true,
  bindingDelivered: true,
  bindingFailed: true,
  workflowStarted: true,
  workflowCompleted: true,
  workflowFailed: true,
  workflowCanceled: true,
  workflowTerminated: true,
  activityStarted: true,
  activityCompleted: true,
  activityFailed: true,
  workflowTaskRetrying: true,
  invocationEnded: true,
  appReady: true,
  appHealthy: true,
  appUnhealthy: true,
  circuitBreakerChanged: true,
  shutdownRequested: true,
  sidecarStopping: true,
  subscriptionStarted: true,
  subscriptionRefused: true,
});

type Name = keyof SidecarEvents;
type ListenerOf<N extends Name> = EventEmitter.EventListener<SidecarEvents, N>;

/** Emits the events of a sidecar. What fails in a listener is logged, and keeps no other listener from the event. */
export class SidecarEventEmitter extends EventEmitter<SidecarEvents> {
  readonly #logger: Logger;
  readonly #apart: Apart;
  /** Listeners that were added with `once`. */
  readonly #once = new WeakSet<object>();

  constructor(logger: Logger, apart: Apart = () => outside) {
    super();
    this.#logger = logger;
    this.#apart = apart;
  }

  override once<N extends Name>(name: N, listener: ListenerOf<N>): this {
    this.#once.add(listener);
    return super.once(name, listener);
  }

  override emit<N extends Name>(name: N, ...told: EventEmitter.EventArgs<SidecarEvents, N>): boolean {
    const listeners = this.listenerCount(name);
    if (listeners === 0) return false;
    if (listeners > 1) return this.#emitToEach(name, told);
    try {
      return this.#apart()(() => super.emit(name, ...told));
    } catch (error) {
      this.#failed(name, error);
      return true;
    }
  }

  #emitToEach<N extends Name>(name: N, told: EventEmitter.EventArgs<SidecarEvents, N>): boolean {
    for (const listener of this.listeners(name)) {
      if (this.#once.has(listener)) super.off(name, listener, undefined, true);
      try {
        this.#apart()(() => listener(...told));
      } catch (error) {
        this.#failed(name, error);
      }
    }
    return true;
  }

  #failed(event: Name, error: unknown): void {
    this.#logger.error({ event, error }, 'a listener of sidecar.events failed');
  }

  /** For code that may listen, but neither emit nor remove the listeners of others. */
  source(): SidecarEventSource {
    const source: SidecarEventSource = {
      on: (name, listener) => this.#listen('on', name, listener, source),
      once: (name, listener) => this.#listen('once', name, listener, source),
      off: (name, listener) => this.#listen('off', name, listener, source),
    };
    return Object.freeze(source);
  }

  #listen<N extends Name>(
    how: 'on' | 'once' | 'off',
    name: N,
    listener: (...args: SidecarEvents[N]) => void,
    source: SidecarEventSource,
  ): SidecarEventSource {
    if (!EVENT_NAMES.has(name))
      throw invalidArgument(`there is no event ${shown(name)}${didYouMean(String(name), EVENT_NAMES)}`, 'name');
    checkFunction(listener, `the listener of ${JSON.stringify(name)}`, 'listener');
    this[how](name, listener as ListenerOf<N>);
    return source;
  }
}
