import type { Message, Trace } from './components/pubsub.ts';
import { messageOf } from './errors.ts';
import type { SidecarEventSource } from './events.ts';
import type { HeaderMap } from './http/message.ts';
import type { Clock } from './util/clock.ts';
import { type Apart, outside, type Run } from './util/outside.ts';

/** A publish of one message or of several at once. */
export interface PublishOperation {
  readonly type: 'publish';
  readonly pubsubName: string;
  readonly topic: string;
  /** The trace that the caller has given; used if nothing else is traced. */
  readonly trace: Trace | undefined;
}

/** One attempt to have one message processed, or several in one request. */
export interface ProcessOperation {
  readonly type: 'process';
  readonly pubsubName: string;
  readonly topic: string;
  readonly group: string;
  readonly messages: readonly Message[];
  /** Whether the messages come in one request, of a bulk subscription. */
  readonly isBulk: boolean;
  /** The number of the attempt; that of the first message of several. */
  readonly attempt: number;
}

/** One attempt to run a job. */
export interface JobOperation {
  readonly type: 'job';
  readonly jobName: string;
  /** The name or pattern of the function that runs it; empty for the application. */
  readonly handler: string;
  readonly attempt: number;
  readonly dueAt: number;
  /** The origin of its schedule. */
  readonly trace: Trace | undefined;
}

/** One attempt to have an event of an input binding handled. */
export interface BindingEventOperation {
  readonly type: 'bindingEvent';
  readonly bindingName: string;
  /** The trace that the event has brought along. */
  readonly trace: Trace | undefined;
}

/** A turn of an actor, without the time for which it waited. */
export interface ActorOperation {
  readonly type: 'actor';
  readonly kind: 'method' | 'reminder' | 'timer';
  readonly actorType: string;
  readonly actorId: string;
  /** The method, or the name of the reminder or timer. */
  readonly name: string;
}

/** The start of a workflow instance. */
export interface StartOperation {
  readonly type: 'start';
  readonly workflowName: string;
  readonly instanceId: string;
  /** Its starter: the code that asks for it, its parent, or the run before it. */
  readonly by: 'caller' | 'parent' | 'previousRun';
  /** The start of the parent or of the run before. */
  readonly trace: Trace | undefined;
}

/** One attempt to run an activity. */
export interface ActivityOperation {
  readonly type: 'activity';
  readonly instanceId: string;
  readonly activityName: string;
  readonly activityId: number;
  readonly attempt: number;
  /** The start of the workflow. */
  readonly trace: Trace | undefined;
}

/** A run of a workflow, told at its end. */
export interface WorkflowOperation {
  readonly type: 'workflow';
  readonly workflowName: string;
  readonly instanceId: string;
  readonly startedAt: number;
  /** The start of the workflow. */
  readonly trace: Trace | undefined;
}

/** One attempt to call another service. */
export interface InvokeOperation {
  readonly type: 'invoke';
  readonly target: string;
  readonly method: string;
  /** How often it was sent before. */
  readonly resends: number;
}

/** A request to the HTTP API, or of another sidecar. */
export interface ServeOperation {
  readonly type: 'serve';
  readonly method: string;
  readonly path: string;
  /** The pattern of its route. */
  readonly route: string;
  readonly headers: HeaderMap;
}

/** A call to a store of a building block. */
export interface StoreOperation {
  readonly type: 'store';
  readonly block: 'state' | 'secrets' | 'configuration' | 'lock' | 'bindings';
  /** The operation, such as `get`. */
  readonly action: string;
  readonly storeName: string;
}

/** Something that the sidecar does, told when it begins. */
export type Operation =
  | PublishOperation
  | ProcessOperation
  | JobOperation
  | BindingEventOperation
  | ActorOperation
  | StartOperation
  | ActivityOperation
  | WorkflowOperation
  | InvokeOperation
  | StoreOperation
  | ServeOperation;

/** The outcome of an attempt to deliver a message. `unsettled`: it is delivered again. */
export type Settled = 'delivered' | 'retrying' | 'dropped' | 'dead_lettered' | 'unsettled';

/** Why an operation has failed. */
export interface OperationFailure {
  readonly reason: string;
  /** The HTTP status, if that is the reason. */
  readonly status?: number;
  /** The thrown value, if one was thrown. */
  readonly thrown?: { readonly value: unknown } | undefined;
}

/** How an operation has ended. Nothing means that it succeeded. */
export interface Ending {
  readonly failure?: OperationFailure | undefined;
  /** The status of a response. */
  readonly status?: number | undefined;
  /** The outcome of each message. */
  readonly settled?: readonly Settled[];
  /** The outcome of a run of a job or workflow. */
  readonly outcome?: string;
}

/** An operation under way. */
export interface Observation {
  /** Its trace context, for what it causes elsewhere; `undefined` if there is none. */
  readonly trace: Trace | undefined;
  /** The header fields that carry its trace context and what belongs to it. */
  headers(): HeaderMap;
  /** Tells what a publish sends. */
  sends(message: Message): void;
  /** Runs code as a part of the operation. */
  run<T>(work: () => T): T;
  /** Ends it; a second call does nothing. */
  end(ending?: Ending): void;
}

/**
 * Sees what a sidecar does. It is `undefined` without an observer, and then costs one comparison. Its methods never
 * throw.
 */
export interface Probe {
  begin(operation: Operation): Observation;
  /** The trace context of the code that runs now. */
  current(): Observation['trace'];
  /** The header fields that carry the trace context of the code that runs now. */
  headers(): HeaderMap;
  /** Runs the transport of a call that is observed already, so that instrumented clients do not observe it again. */
  quietly<T>(work: () => T): T;
  /** A policy has a call tried again. */
  retried(target: { readonly targetType: string; readonly target: string }): void;
  /** A commit of the state store has ended; `error` is why it failed. */
  committed(durationMs: number, error?: unknown): void;
  /** Observes no more. */
  close(): void;
}

/** The figures of a sidecar that can be read at any time. */
export interface Gauges {
  /** The number of workflow instances in memory. */
  readonly workflows: () => number;
  /** The number of activities that run or wait. */
  readonly activities: () => number;
  /** The number of shards that this host owns; `undefined` while it is no host. */
  readonly shards: () => number | undefined;
  /** Whether the application is healthy; `undefined` without an application. */
  readonly isAppHealthy: () => boolean | undefined;
  /** The messages that wait in the queues of all components. */
  readonly queues: () => Promise<readonly QueueGauge[]>;
  /** The circuit breakers that there are. */
  readonly breakers: () => readonly BreakerGauge[];
}

/** The messages that wait in a queue. */
export interface QueueGauge {
  readonly pubsubName: string;
  readonly topic: string;
  readonly group: string;
  readonly ready: number;
  readonly delayed: number;
  readonly inFlight: number;
  /** When the first message was published, if it is known. */
  readonly oldestAt?: number;
}

/** A circuit breaker. */
export interface BreakerGauge {
  readonly targetType: string;
  readonly target: string;
  readonly endpoint: string;
  readonly policy: string;
  readonly state: 'closed' | 'half-open' | 'open';
}

/** The sidecar that a probe is for. */
export interface ObservedSidecar {
  readonly appId: string;
  readonly namespace: string;
  readonly clock: Clock;
  readonly events: SidecarEventSource;
  /** `undefined` while the sidecar is being made. */
  readonly gauges: () => Gauges | undefined;
}

/** Telemetry of sidecars, such as `openTelemetry()` of `insidecar/otel`. @public */
export interface Telemetry {
  /** The kind of telemetry, such as `opentelemetry`. */
  readonly type: string;
  /** Begins to observe a sidecar. @internal */
  readonly attach: (sidecar: ObservedSidecar) => Probe;
  /** The fields of a log line that name the present trace; `undefined` outside of traces. @internal */
  readonly logFields: () => object | undefined;
  /** Runs code in the trace of the code that runs now, wherever it is called. @internal */
  readonly bound: () => Run;
}

/** How code of the user's is called: without telemetry, in no trace either. */
export function apart(telemetry: Telemetry | undefined): Apart {
  if (telemetry === undefined) return () => outside;
  return () => {
    const within = telemetry.bound();
    return (work) => outside(() => within(work));
  };
}

/** Runs work as an operation, which ends with it unless the work has ended it. `endingOf` says how its result ends it. */
export async function observe<T>(
  probe: Probe,
  operation: Operation,
  work: (observation: Observation) => Promise<T>,
  endingOf?: (result: T) => Ending,
): Promise<T> {
  const observation = probe.begin(operation);
  try {
    const result = await observation.run(() => work(observation));
    observation.end(endingOf?.(result));
    return result;
  } catch (error) {
    observation.end({ failure: { reason: messageOf(error), thrown: { value: error } } });
    throw error;
  }
}
