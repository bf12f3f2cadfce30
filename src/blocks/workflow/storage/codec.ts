import { StateError } from '../../../state/errors.ts';
import { readValue } from '../../../state/values.ts';
import { type HistoryEvent, type IncomingEvent, isAction } from '../model/events.ts';
import type { WorkflowFailure } from '../model/failure.ts';
import type { Payload } from '../model/payload.ts';

/*
 * A stored value is a header in JSON without line ends, a line end, and the payloads one behind the other. In the
 * header stand their lengths: so no payload is escaped, quoted or parsed on its way through.
 */
const FORMAT = 1;
const NO_PAYLOAD = -1;

/** Event types as they are stored. */
const CODES = {
  started: 's',
  begun: 'b',
  activityScheduled: 'a',
  activityCompleted: 'A',
  activityFailed: 'F',
  timerCreated: 't',
  timerFired: 'T',
  childStarted: 'c',
  childCompleted: 'C',
  childFailed: 'E',
  eventRaised: 'r',
  patched: 'p',
  suspended: 'z',
  resumed: 'Z',
  terminated: 'x',
} as const satisfies Record<HistoryEvent['type'], string>;

type Tuple = readonly [code: string, ...fields: (string | number | WorkflowFailure)[]];

/** Encodes a header and its payloads. */
export function encodeText(header: string, payloads: string): Uint8Array {
  // A format below 128 is one character and one byte.
  return Buffer.from(`${String.fromCharCode(FORMAT)}${header}\n${payloads}`);
}

/** The header and the payloads of a stored value. */
export function decodeText(key: string, value: Uint8Array): { readonly header: unknown; readonly payloads: Payloads } {
  const text = readValue(key, value, {
    [FORMAT]: (payload) => Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString(),
  });
  const end = text.indexOf('\n');
  if (end < 0) throw new StateError('corrupt', `The value of ${JSON.stringify(key)} has no header.`);
  return { header: JSON.parse(text.slice(0, end)) as unknown, payloads: new Payloads(text, end + 1) };
}

/** Takes payloads off a text, one behind the other. */
export class Payloads {
  readonly #text: string;
  #at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.#at = at;
  }

  take(length: number): Payload {
    if (length === NO_PAYLOAD) return undefined;
    const from = this.#at;
    this.#at += length;
    return this.#text.slice(from, this.#at);
  }
}

/** The length under which a payload stands in a header. */
export function lengthOf(payload: Payload): number {
  return payload === undefined ? NO_PAYLOAD : payload.length;
}

/** The payload of an event. */
export function payloadOf(event: HistoryEvent): Payload {
  switch (event.type) {
    case 'started':
    case 'activityScheduled':
    case 'childStarted':
      return event.input;
    case 'activityCompleted':
    case 'childCompleted':
    case 'terminated':
      return event.output;
    case 'eventRaised':
      return event.data;
    default:
      return undefined;
  }
}

/** About how many characters an event takes up. */
export function sizeOf(event: HistoryEvent): number {
  if (event.type !== 'activityFailed' && event.type !== 'childFailed') return payloadOf(event)?.length ?? 0;
  const { message, stackTrace = '' } = event.failure;
  return message.length + stackTrace.length;
}

/** Part of a turn: events of one turn that are too large for one value are spread over several. */
export interface Chunk {
  readonly at: number;
  /** The next chunk is of the same turn. */
  readonly isContinued: boolean;
  readonly events: readonly HistoryEvent[];
  /** How many events the history has, these among them. */
  readonly total: number;
}

export function encodeChunk({ at, isContinued, events, total }: Chunk): Uint8Array {
  let tuples = '';
  let payloads = '';
  for (const event of events) {
    const payload = payloadOf(event);
    tuples += `${tuples === '' ? '' : ','}${tupleText(event, lengthOf(payload))}`;
    if (payload !== undefined) payloads += payload;
  }
  return encodeText(`[${at},${isContinued ? 1 : 0},${total},[${tuples}]]`, payloads);
}

/** Put together by hand: every turn comes here. */
function tupleText(event: HistoryEvent, length: number): string {
  const code = CODES[event.type];
  switch (event.type) {
    case 'started':
    case 'terminated':
      return `["${code}",${length}]`;
    case 'begun':
    case 'suspended':
    case 'resumed':
      return `["${code}"]`;
    case 'activityScheduled':
      return `["${code}",${event.sequence},${JSON.stringify(event.name)},${event.attempt},${event.activityId},${length}]`;
    case 'activityCompleted':
    case 'childCompleted':
      return `["${code}",${event.sequence},${length}]`;
    case 'activityFailed':
    case 'childFailed':
      return `["${code}",${event.sequence},${JSON.stringify(event.failure)}]`;
    case 'timerCreated':
      return `["${code}",${event.sequence},${event.dueAt}]`;
    case 'timerFired':
      return `["${code}",${event.sequence}]`;
    case 'childStarted':
      return `["${code}",${event.sequence},${JSON.stringify(event.name)},${JSON.stringify(event.instanceId)},${length}]`;
    case 'eventRaised':
      return `["${code}",${JSON.stringify(event.name)},${length}]`;
    case 'patched':
      return `["${code}",${JSON.stringify(event.name)}]`;
  }
}

export function decodeChunk(key: string, value: Uint8Array): Chunk {
  const { header, payloads } = decodeText(key, value);
  const [at, isContinued, total, tuples] = header as [number, number, number, Tuple[]];
  return { at, isContinued: isContinued === 1, total, events: tuples.map((tuple) => eventOf(key, tuple, payloads)) };
}

function eventOf(key: string, [code, a, b, c, d, e]: Tuple, payloads: Payloads): HistoryEvent {
  const sequence = a as number;
  const name = a as string;
  switch (code) {
    case CODES.started:
      return { type: 'started', input: payloads.take(a as number) };
    case CODES.begun:
      return { type: 'begun' };
    case CODES.activityScheduled: {
      const [attempt, activityId] = [c as number, d as number];
      const input = payloads.take(e as number);
      return { type: 'activityScheduled', sequence, name: b as string, input, attempt, activityId };
    }
    case CODES.activityCompleted:
      return { type: 'activityCompleted', sequence, output: payloads.take(b as number) };
    case CODES.activityFailed:
      return { type: 'activityFailed', sequence, failure: b as WorkflowFailure };
    case CODES.timerCreated:
      return { type: 'timerCreated', sequence, dueAt: b as number };
    case CODES.timerFired:
      return { type: 'timerFired', sequence };
    case CODES.childStarted:
      return {
        type: 'childStarted',
        sequence,
        name: b as string,
        instanceId: c as string,
        input: payloads.take(d as number),
      };
    case CODES.childCompleted:
      return { type: 'childCompleted', sequence, output: payloads.take(b as number) };
    case CODES.childFailed:
      return { type: 'childFailed', sequence, failure: b as WorkflowFailure };
    case CODES.eventRaised:
      return { type: 'eventRaised', name, data: payloads.take(b as number) };
    case CODES.patched:
      return { type: 'patched', name };
    case CODES.suspended:
      return { type: 'suspended' };
    case CODES.resumed:
      return { type: 'resumed' };
    case CODES.terminated:
      return { type: 'terminated', output: payloads.take(a as number) };
    default:
      throw new StateError(
        'newer-format',
        `The value of ${JSON.stringify(key)} has the event ${JSON.stringify(code)}.`,
      );
  }
}

/** What others have for an instance. */
export interface InboxMessage {
  /** Absent: only a hint that there is something to do. */
  readonly event: IncomingEvent | undefined;
  /** The run that it is meant for; empty for whatever runs now. */
  readonly executionId: string;
}

export function encodeMessage({ event, executionId }: InboxMessage): Uint8Array {
  const payload = event && payloadOf(event);
  const tuple = event === undefined ? 'null' : tupleText(event, lengthOf(payload));
  return encodeText(`[${JSON.stringify(executionId)},${tuple}]`, payload ?? '');
}

export function decodeMessage(key: string, value: Uint8Array): InboxMessage {
  const { header, payloads } = decodeText(key, value);
  const [executionId, tuple] = header as [string, Tuple | null];
  if (tuple === null) return { event: undefined, executionId };
  const event = eventOf(key, tuple, payloads);
  if (isAction(event)) throw new StateError('corrupt', `The message ${JSON.stringify(key)} is an action.`);
  return { event, executionId };
}
