import type { Trace } from '../../../components/pubsub.ts';
import { SidecarError } from '../../../errors.ts';
import { isIfExists } from '../model/definition.ts';
import type { InstanceView } from '../model/instance.ts';
import type { InstanceWork } from '../operations/work.ts';
import type {
  CallOutcome,
  ForwardedCall,
  ForwardedWait,
  PeerReplies,
  PeerRequest,
  RefusalCode,
  WaitAnswer,
} from './call.ts';

/** Encodes what hosts send to each other, as lines of JSON. */

const REFUSAL_CODES: readonly RefusalCode[] = ['ERR_INSTANCE_ID_NOT_FOUND', 'ERR_START_WORKFLOW'];
const OUTCOMES = ['done', 'not-done', 'unsure'] as const;

type Fields = Readonly<Record<string, unknown>>;

export function encodeRequest(request: PeerRequest): string {
  return `${JSON.stringify(request)}\n`;
}

/** @throws SidecarError `ERR_BAD_REQUEST` */
export function decodeRequest(line: string): PeerRequest {
  const { calls, answered, waits, left } = parsed(line);
  if (!Array.isArray(calls) || !Array.isArray(waits)) throw malformed();
  if (!Array.isArray(answered) || !answered.every(isText)) throw malformed();
  if (!Array.isArray(left) || !left.every(isNumber)) throw malformed();
  return { calls: calls.map(callOf), answered, waits: waits.map(waitOf), left };
}

function callOf(given: Fields | null): ForwardedCall {
  const { key, instanceId, work } = given ?? {};
  if (!isText(key) || !isText(instanceId)) throw malformed();
  return { key, instanceId, work: workOf(work as Fields | null) };
}

function workOf(given: Fields | null): InstanceWork {
  const { type, name, input, startAt, ifExists = 'replace', data, output, trace } = given ?? {};
  if (!isPayload(input) || !isPayload(data) || !isPayload(output)) throw malformed();
  if (type === 'suspended' || type === 'resumed' || type === 'cancelRequested') return { type };
  if (type === 'terminated') return { type, output };
  if (type === 'eventRaised' && isText(name)) return { type, name, data };
  if (type === 'start' && isText(name) && isNumber(startAt) && isIfExists(ifExists))
    return { type, name, input, startAt, ifExists, ...traceOf(trace as Fields | null) };
  throw malformed();
}

function waitOf(given: Fields | null): ForwardedWait {
  const { id, instanceId, until } = given ?? {};
  if (!isNumber(id) || !isText(instanceId) || (until !== 'begun' && until !== 'over')) throw malformed();
  return { id, instanceId, until };
}

/** Hosts of earlier versions send none. */
function traceOf(given: Fields | null | undefined): { readonly trace?: Trace } {
  const { traceparent, tracestate } = given ?? {};
  if (!isText(traceparent)) return {};
  return { trace: isText(tracestate) ? { traceparent, tracestate } : { traceparent } };
}

export function encodeOutcomes(outcomes: readonly CallOutcome[]): string {
  return `${JSON.stringify({ outcomes })}\n`;
}

export function encodeAnswer(answer: WaitAnswer): string {
  return `${JSON.stringify(answer)}\n`;
}

/**
 * Passes a reply on.
 *
 * @throws SidecarError `ERR_BAD_REQUEST`
 */
export function decodeReply(line: string, replies: Pick<PeerReplies, 'outcomes' | 'answer'>): void {
  const { outcomes, id, view } = parsed(line);
  if (Array.isArray(outcomes)) return replies.outcomes(outcomes.map(outcomeOf));
  if (!isNumber(id)) throw malformed();
  replies.answer({ id, view: view === undefined ? undefined : viewOf(view as Fields) });
}

function outcomeOf(given: Fields | null): CallOutcome {
  const { is, code, message } = given ?? {};
  const known = OUTCOMES.find((one) => one === is);
  if (known !== undefined) return { is: known };
  const refusal = REFUSAL_CODES.find((one) => one === code);
  if (is !== 'refused' || refusal === undefined || !isText(message)) throw malformed();
  return { is, code: refusal, message };
}

/** Safe cast: a host of the same application encoded the view, and all other fields are optional. */
function viewOf(view: Fields): InstanceView {
  const { instanceId, name, status } = view;
  if (!isText(instanceId) || !isText(name) || !isText(status)) throw malformed();
  return view as unknown as InstanceView;
}

function parsed(text: string): Fields {
  try {
    return (JSON.parse(text) ?? {}) as Fields;
  } catch (cause) {
    throw malformed(cause);
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function isPayload(value: unknown): value is string | undefined {
  return value === undefined || isText(value);
}

function malformed(cause?: unknown): SidecarError {
  return new SidecarError('ERR_BAD_REQUEST', 'calls between hosts have another form here', { cause });
}
