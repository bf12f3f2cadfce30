import type { InvocationInfo, JobRunInfo, Message, MessageInfo, WorkflowInfo } from '../../index.ts';
import type {
  AttemptRecord,
  CallRecord,
  JobRecord,
  LiveRecord,
  MessageOutcome,
  MessageRecord,
  WorkflowRecord,
} from '../api/live.ts';
import type { KeptPayload } from './kept-payload.ts';
import type { Indexed } from './name-index.ts';
import type { Kept } from './ring.ts';

/** The most attempts of one message that are kept. */
const MAX_ATTEMPTS = 20;
/** Of reasons and paths. */
const MAX_TEXT = 1_024;
/** Of the reasons of all but the last attempt: in an outage, thousands of messages have many. */
const MAX_FORMER_TEXT = 200;
/** Events may have any text in place of a trace. */
const MAX_TRACE = 128;

/** As much of a text as is kept, as a copy: a part of a text would keep all of it alive. */
export function shortened(text: string, length: number = MAX_TEXT): string {
  return text.length <= length ? text : `${Buffer.from(text.slice(0, length)).toString()}…`;
}

/** The recorder's entry of an event; it changes until the event has ended. */
abstract class Entry implements Kept {
  abstract readonly kind: LiveRecord['kind'];
  id = 0;
  seq = 0;
  readonly at: number;
  endedAt: number | undefined;
  abstract readonly bytes: number;
  readonly traceparent: string | undefined;

  constructor(at: number, traceparent: string | undefined) {
    this.at = at;
    this.traceparent = traceparent !== undefined && traceparent.length <= MAX_TRACE ? traceparent : undefined;
  }

  abstract record(): LiveRecord;

  /** Whether a text in lower case is a part of what it shows. */
  hasText(text: string): boolean {
    for (const one of this.texts()) if (one.toLowerCase().includes(text)) return true;
    return false;
  }

  protected abstract texts(): Iterable<string>;

  protected get base(): Pick<LiveRecord, 'key' | 'seq' | 'at' | 'durationMs' | 'traceparent'> {
    const { id, seq, at, endedAt, traceparent } = this;
    return {
      key: String(id),
      seq,
      at,
      ...(endedAt === undefined ? undefined : { durationMs: Math.max(0, endedAt - at) }),
      ...(traceparent === undefined ? undefined : { traceparent }),
    };
  }
}

/** An attempt to deliver a message. */
interface KeptAttempt {
  readonly attempt: number;
  readonly at: number;
  durationMs: number | undefined;
  outcome: AttemptRecord['outcome'];
  reason: string | undefined;
}

/** A message on its way to a group. */
export class MessageEntry extends Entry implements Indexed {
  readonly kind = 'message';
  readonly bytes: number;
  readonly pubsubName: string;
  readonly topic: string;
  readonly payload: KeptPayload;
  /** The size of the message. */
  readonly dataBytes: number;
  nextOfHash: Indexed | undefined;
  group: string | undefined;
  route: string | undefined;
  outcome: MessageOutcome = 'published';
  deadLetterTopic: string | undefined;
  /** Whether `messagePublished` has announced it. */
  isAnnounced = false;
  /** Identifies the delivery that is under way. */
  underWay: Message | undefined;
  readonly #messageId: string;
  #attempts: KeptAttempt[] = [];

  constructor(at: number, { pubsubName, topic, messageId }: MessageInfo, message: Message, payload: KeptPayload) {
    super(at, message.trace?.traceparent);
    this.pubsubName = pubsubName;
    this.topic = topic;
    this.#messageId = messageId;
    this.payload = payload;
    this.dataBytes = message.data.length;
    this.bytes = payload.bytes + messageId.length;
  }

  get name(): string {
    return this.#messageId;
  }

  begin(attempt: number, at: number, message: Message): void {
    if (this.#attempts.length === MAX_ATTEMPTS) this.#attempts.shift();
    const former = this.#attempts.at(-1);
    if (former?.reason !== undefined) former.reason = shortened(former.reason, MAX_FORMER_TEXT);
    this.#attempts.push({ attempt, at, durationMs: undefined, outcome: 'delivering', reason: undefined });
    this.outcome = 'delivering';
    this.underWay = message;
    this.endedAt = undefined;
  }

  end(outcome: KeptAttempt['outcome'], at: number, reason?: string): void {
    this.outcome = outcome;
    this.underWay = undefined;
    this.endedAt = at;
    const last = this.#attempts.at(-1);
    if (last === undefined) return;
    last.outcome = outcome;
    last.durationMs = Math.max(0, at - last.at);
    last.reason = reason && shortened(reason);
  }

  record(): MessageRecord {
    const { pubsubName, topic, group, route, outcome, dataBytes: bytes, deadLetterTopic } = this;
    return {
      ...this.base,
      kind: 'message',
      pubsubName,
      topic,
      messageId: this.#messageId,
      ...(group === undefined ? undefined : { group }),
      ...(route === undefined ? undefined : { route }),
      outcome,
      attempts: this.#attempts.map(attemptRecord),
      bytes,
      ...(deadLetterTopic === undefined ? undefined : { deadLetterTopic }),
    };
  }

  protected *texts(): Iterable<string> {
    yield this.#messageId;
    yield this.route ?? '';
    for (const { reason } of this.#attempts) if (reason !== undefined) yield reason;
  }

  override hasText(text: string): boolean {
    return super.hasText(text) || this.payload.includes(text);
  }
}

function attemptRecord({ attempt, at, durationMs, outcome, reason }: KeptAttempt): AttemptRecord {
  return {
    attempt,
    at,
    ...(durationMs === undefined ? undefined : { durationMs }),
    outcome,
    ...(reason === undefined ? undefined : { reason }),
  };
}

/** A call that has ended. */
export class CallEntry extends Entry {
  readonly kind = 'call';
  readonly bytes = 0;
  readonly direction: CallRecord['direction'];
  readonly target: string;
  readonly status: number;
  readonly #path: string;
  readonly #rest: Pick<CallRecord, 'method' | 'attempts'>;

  constructor(endedAt: number, info: InvocationInfo) {
    const { direction, target, caller, method, path, status, attempts, durationMs, trace } = info;
    super(endedAt - durationMs, trace?.traceparent);
    this.endedAt = endedAt;
    this.direction = direction;
    this.target = shortened(direction === 'in' ? (caller ?? '') : target);
    this.status = status;
    this.#path = shortened(path);
    this.#rest = { method, attempts };
  }

  record(): CallRecord {
    const { direction, target, status } = this;
    return { ...this.base, kind: 'call', direction, target, path: this.#path, status, ...this.#rest };
  }

  protected *texts(): Iterable<string> {
    yield this.#path;
    yield this.target;
  }
}

/** An attempt of a run of a job. */
export class JobEntry extends Entry implements Indexed {
  readonly kind = 'job';
  readonly bytes = 0;
  readonly name: string;
  readonly dueAt: number;
  readonly attempt: number;
  nextOfHash: Indexed | undefined;
  outcome: JobRecord['outcome'] = 'running';
  reason: string | undefined;

  constructor(at: number, { jobName, dueAt, attempt, trace }: JobRunInfo) {
    super(at, trace?.traceparent);
    this.name = jobName;
    this.dueAt = dueAt;
    this.attempt = attempt;
  }

  record(): JobRecord {
    const { name: jobName, dueAt, attempt, outcome, reason } = this;
    return {
      ...this.base,
      kind: 'job',
      jobName,
      dueAt,
      attempt,
      outcome,
      ...(reason === undefined ? undefined : { reason }),
    };
  }

  protected *texts(): Iterable<string> {
    yield this.name;
    yield this.reason ?? '';
  }
}

/** A workflow that was started, or has ended. */
export class WorkflowEntry extends Entry implements Indexed {
  readonly kind = 'workflow';
  readonly bytes = 0;
  readonly name: string;
  readonly workflowName: string;
  nextOfHash: Indexed | undefined;
  outcome: WorkflowRecord['outcome'] = 'started';
  reason: string | undefined;

  constructor(at: number, { instanceId, workflowName, trace }: WorkflowInfo) {
    super(at, trace?.traceparent);
    this.name = instanceId;
    this.workflowName = workflowName;
  }

  record(): WorkflowRecord {
    const { name: instanceId, workflowName, outcome, reason } = this;
    return {
      ...this.base,
      kind: 'workflow',
      instanceId,
      workflowName,
      outcome,
      ...(reason === undefined ? undefined : { reason }),
    };
  }

  protected *texts(): Iterable<string> {
    yield this.name;
    yield this.workflowName;
    yield this.reason ?? '';
  }
}

/** An entry of any kind. */
export type RecorderEntry = MessageEntry | CallEntry | JobEntry | WorkflowEntry;
