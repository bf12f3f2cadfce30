import type { ExplainedSubscription, HealthState } from '../../index.ts';
import type { PayloadView } from './apps.ts';

// Live flow: what this process has seen. Records are kept in memory, and only while somebody looks.

/** The outcome of a message. `unsettled`: it will be delivered again at an unknown time. */
export type MessageOutcome =
  | 'published'
  | 'delivering'
  | 'retrying'
  | 'delivered'
  | 'dropped'
  | 'deadLettered'
  | 'unsettled';

interface RecordBase {
  /** Identifies it as long as the process lives. A later version of the same record has the same key. */
  readonly key: string;
  /** Grows with every change of any record. */
  readonly seq: number;
  /** When it began. */
  readonly at: number;
  /** Until its end, or the end of its last attempt. */
  readonly durationMs?: number;
  readonly traceparent?: string;
}

/** A message on its way to one group; or only published, as long as no group has got it. */
export interface MessageRecord extends RecordBase {
  readonly kind: 'message';
  readonly pubsubName: string;
  readonly topic: string;
  readonly messageId: string;
  /** Absent: it was published, and nothing was delivered yet. */
  readonly group?: string;
  /** The route of the last attempt; `/` for a function in code. */
  readonly route?: string;
  readonly outcome: MessageOutcome;
  /** The last attempts, at most 20, the earliest first. */
  readonly attempts: readonly AttemptRecord[];
  /** The size of the message, with the envelope of its CloudEvent. */
  readonly bytes: number;
  readonly deadLetterTopic?: string;
}

/** One attempt to deliver a message. */
export interface AttemptRecord {
  /** From 1. */
  readonly attempt: number;
  readonly at: number;
  /** Absent: it has not ended. */
  readonly durationMs?: number;
  readonly outcome: Exclude<MessageOutcome, 'published'>;
  /** Why it failed. */
  readonly reason?: string;
}

/** A call of another application or service, or one that came in. */
export interface CallRecord extends RecordBase {
  readonly kind: 'call';
  readonly direction: 'out' | 'in';
  /** The target of the call; of one that came in, the caller, if that is known. */
  readonly target: string;
  readonly method: string;
  readonly path: string;
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  /** How often it was sent. */
  readonly attempts: number;
}

/** One attempt of a run of a job. */
export interface JobRecord extends RecordBase {
  readonly kind: 'job';
  readonly jobName: string;
  readonly dueAt: number;
  readonly attempt: number;
  readonly outcome: 'running' | 'done' | 'retrying' | 'failed' | 'dropped';
  readonly reason?: string;
}

/** A workflow that was started, or has ended. */
export interface WorkflowRecord extends RecordBase {
  readonly kind: 'workflow';
  readonly instanceId: string;
  readonly workflowName: string;
  readonly outcome: 'started' | 'completed' | 'failed' | 'canceled' | 'terminated';
  readonly reason?: string;
}

/** Something that this process has seen. */
export type LiveRecord = MessageRecord | CallRecord | JobRecord | WorkflowRecord;

/** The filter of `GET messages`, `GET calls` and `GET live`: all that is given must hold. */
export interface RecordQuery {
  /** Only these, separated by commas (`live` only; default: all). */
  readonly kinds?: string;
  readonly pubsubName?: string;
  readonly topic?: string;
  readonly group?: string;
  /** A {@link MessageOutcome}. */
  readonly outcome?: string;
  /** Of calls: the target. */
  readonly target?: string;
  /** Of calls: a status (`503`) or a class (`5xx`; `0` for no response). */
  readonly status?: string;
  /** A part of the ID, reason, path or data (as shown, so masked parts are not found), in any case. */
  readonly text?: string;
}

/** `GET messages` and `GET calls`: the newest first. Also takes `cursor` and `limit` (1 to 1,000; default 100). */
export interface RecordsReply<R extends LiveRecord = LiveRecord> {
  readonly records: readonly R[];
  readonly cursor?: string;
  /** How many are kept, and the most that are. */
  readonly kept: number;
  readonly capacity: number;
  /** Whether older ones were dropped for want of space. */
  readonly hasDropped: boolean;
  /** Since when it is recorded; absent: it is not, and this request has begun it. */
  readonly recordingSince?: number;
}

/** `GET messages/one?key=` */
export interface MessageDetail {
  readonly record: MessageRecord;
  /** Absent: it is no longer kept. */
  readonly payload?: PayloadView;
  /** The attributes of its CloudEvent but for its data; empty for a raw payload. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Where its event goes and why, by the subscriptions of now. */
  readonly subscriptions: readonly ExplainedSubscription[];
}

/** `POST messages`: publishes. */
export interface PublishBody {
  readonly pubsubName: string;
  readonly topic: string;
  /** JSON text if the content type is JSON or absent, else text. */
  readonly data: string;
  /** Default `application/json`. */
  readonly contentType?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * `GET live`: server-sent events, each with the `id` of the last `seq` in it. `records`: a {@link LiveFrame}, at most
 * four a second. `rates`: an {@link Overview} without `attention` and `recent`, once a second. `ended`: the sidecar
 * stops or the inspector is closed. With `Last-Event-ID`, or a `seq` as `?after=`, what came after it comes first, as far
 * as it is kept. Answers 503 (`ERR_TOO_MANY_VIEWERS`) when there are 8 viewers.
 */
export interface LiveFrame {
  /** At most 200; the last version of each. */
  readonly records: readonly LiveRecord[];
  /** How many more had changed; with `text`, of those that are still kept. */
  readonly skipped: number;
}

/** Numbers of one kind of happening in this process. */
export interface Series {
  readonly name:
    | 'published'
    | 'delivered'
    | 'retrying'
    | 'dropped'
    | 'deadLettered'
    | 'jobsDone'
    | 'jobsFailed'
    | 'workflowsStarted'
    | 'workflowsCompleted'
    | 'workflowsFailed'
    | 'calls'
    | 'callsFailed';
  /** Since the inspector was made. */
  readonly total: number;
  /** Of each of the last 120 seconds, the earliest first. */
  readonly perSecond: readonly number[];
}

/** Something that somebody should look at. */
export interface Attention {
  readonly severity: 'error' | 'warning';
  /** One sentence. */
  readonly text: string;
  /** The page that shows it, such as `#/dead-letters?topic=orders`. */
  readonly href: string;
}

/** `GET overview` */
export interface Overview {
  readonly at: number;
  readonly health: HealthState;
  readonly series: readonly Series[];
  /** How long deliveries took, in the last 120 seconds. Absent: there were none. */
  readonly p95Ms?: number;
  readonly attention: readonly Attention[];
  /** 20 records, the newest first: failures, filled up with others. */
  readonly recent: readonly LiveRecord[];
}
