import { SidecarError } from '../../../errors.ts';
import type { InstanceView } from '../model/instance.ts';
import type { InstanceWork } from '../operations/work.ts';
import type { CallBatch, CallOutcome, ForwardedCall, ForwardedWait, RefusalCode, WaitAnswer } from './call.ts';

/** Encodes calls and answers between hosts as JSON. */

/** Messages of other formats are rejected. */
const FORMAT = 1;
const REFUSAL_CODES: readonly RefusalCode[] = ['ERR_INSTANCE_ID_NOT_FOUND', 'ERR_START_WORKFLOW'];
const OUTCOMES = ['done', 'not-done', 'unsure'] as const;

type Fields = Readonly<Record<string, unknown>>;

export function encodeBatch({ calls, answered }: CallBatch): Uint8Array {
  return Buffer.from(JSON.stringify({ format: FORMAT, calls, answered }));
}

/** @throws SidecarError `ERR_BAD_REQUEST` */
export function decodeBatch(body: Uint8Array): CallBatch {
  const { calls, answered } = fieldsOf(body);
  if (!Array.isArray(calls) || !Array.isArray(answered) || !answered.every(isText)) throw malformed();
  return { calls: calls.map(callOf), answered };
}

function callOf(given: Fields | null): ForwardedCall {
  const { key, instanceId, work } = given ?? {};
  if (!isText(key) || !isText(instanceId)) throw malformed();
  return { key, instanceId, work: workOf(work as Fields | null) };
}

function workOf(given: Fields | null): InstanceWork {
  const { type, name, input, startAt, data, output } = given ?? {};
  if (!isPayload(input) || !isPayload(data) || !isPayload(output)) throw malformed();
  if (type === 'suspended' || type === 'resumed') return { type };
  if (type === 'terminated') return { type, output };
  if (type === 'eventRaised' && isText(name)) return { type, name, data };
  if (type === 'start' && isText(name) && typeof startAt === 'number') return { type, name, input, startAt };
  throw malformed();
}

export function encodeOutcomes(outcomes: readonly CallOutcome[]): Uint8Array {
  return Buffer.from(JSON.stringify({ format: FORMAT, outcomes }));
}

/** @throws SidecarError `ERR_BAD_REQUEST` */
export function decodeOutcomes(body: Uint8Array, count: number): readonly CallOutcome[] {
  const { outcomes } = fieldsOf(body);
  if (!Array.isArray(outcomes) || outcomes.length !== count) throw malformed();
  return outcomes.map(outcomeOf);
}

function outcomeOf(given: Fields | null): CallOutcome {
  const { is, code, message } = given ?? {};
  const known = OUTCOMES.find((one) => one === is);
  if (known !== undefined) return { is: known };
  const refusal = REFUSAL_CODES.find((one) => one === code);
  if (is !== 'refused' || refusal === undefined || !isText(message)) throw malformed();
  return { is, code: refusal, message };
}

export function encodeWaits(waits: readonly ForwardedWait[]): Uint8Array {
  return Buffer.from(JSON.stringify({ format: FORMAT, waits }));
}

/** @throws SidecarError `ERR_BAD_REQUEST` */
export function decodeWaits(body: Uint8Array): readonly ForwardedWait[] {
  const { waits } = fieldsOf(body);
  if (!Array.isArray(waits)) throw malformed();
  return waits.map((given: Fields | null) => {
    const { instanceId, until } = given ?? {};
    if (!isText(instanceId) || (until !== 'begun' && until !== 'over')) throw malformed();
    return { instanceId, until };
  });
}

/** Answers to waits, a line each. */
export function encodeAnswers(answers: readonly WaitAnswer[]): Uint8Array {
  return Buffer.from(answers.map((answer) => `${JSON.stringify(answer)}\n`).join(''));
}

/** @throws SidecarError `ERR_BAD_REQUEST` */
export function decodeAnswer(line: string): WaitAnswer {
  const { index, view } = parsed(line);
  if (typeof index !== 'number') throw malformed();
  return { index, view: view === undefined ? undefined : viewOf(view as Fields) };
}

/** Safe cast: a host of the same application encoded the view, and all other fields are optional. */
function viewOf(view: Fields): InstanceView {
  const { instanceId, name, status } = view;
  if (!isText(instanceId) || !isText(name) || !isText(status)) throw malformed();
  return view as unknown as InstanceView;
}

function fieldsOf(body: Uint8Array): Fields {
  const fields = parsed(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString());
  if (fields['format'] !== FORMAT) throw malformed();
  return fields;
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

function isPayload(value: unknown): value is string | undefined {
  return value === undefined || isText(value);
}

function malformed(cause?: unknown): SidecarError {
  return new SidecarError('ERR_BAD_REQUEST', 'calls between hosts have another form here', { cause });
}
