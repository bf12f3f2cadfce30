import { readValue } from '../../state/values.ts';
import { type StoredTrace, storedTrace, traceOfStored } from '../../util/stored-trace.ts';
import type { JobOutcome, PolicyFields, StoredJob } from '../job.ts';

/** Format 1 of a job: a header in JSON without line ends, a line end, the data. */
const JOB_FORMAT = 1;

/** Format 1 of a pointer: the instant in decimal digits; if the data is stored separately, a space and its ID. */
const POINTER_FORMAT = 1;
const DATA_FORMAT = 1;

/** All fields of a job except its data. The names are short because every run writes them. */
interface Header {
  readonly n: string;
  readonly s?: string;
  readonly d?: string;
  readonly r?: number;
  readonly t?: string;
  readonly p?: PolicyFields;
  /** Data: 1 when it follows, else its ID. */
  readonly x?: 1 | string;
  readonly a: number;
  readonly e?: number;
  readonly k: number;
  readonly f?: number;
  /** Crashes, and 1 while an attempt is under way that is counted among them. */
  readonly i?: number;
  readonly g?: 1;
  readonly c?: number;
  readonly o?: number;
  readonly z?: 1;
  readonly l?: StoredOutcome;
  readonly h?: number;
  readonly w?: number;
  readonly b?: number;
  /** The trace of the code that scheduled it. */
  readonly y?: StoredTrace;
}

/** The last outcome: its index in `OUTCOMES`, when, the attempt, how long, why. */
type StoredOutcome = readonly [outcome: number, at: number, attempt: number, durationMs: number, reason?: string];

/** In stored values: new ones go to the end. */
const OUTCOMES: readonly JobOutcome['outcome'][] = ['done', 'retrying', 'failed', 'dropped'];

/** The stored form of a job. */
export function encodeJob(job: StoredJob): Uint8Array {
  const header = `{"n":${JSON.stringify(job.name)}${setFields(job)}${stateFields(job)}}`;
  return valueOfText(JOB_FORMAT, `${header}\n${job.data ?? ''}`);
}

/** Concatenation is three times as fast as JSON.stringify of an object with mostly undefined fields. */
function setFields({ schedule, dueTime, repeats, ttl, policy, data, dataId }: StoredJob): string {
  let text = '';
  if (schedule !== undefined) text += `,"s":${JSON.stringify(schedule)}`;
  if (dueTime !== undefined) text += `,"d":${JSON.stringify(dueTime)}`;
  if (repeats !== undefined) text += `,"r":${repeats}`;
  if (ttl !== undefined) text += `,"t":${JSON.stringify(ttl)}`;
  if (policy !== undefined) text += `,"p":${JSON.stringify(policy)}`;
  if (data !== undefined) text += ',"x":1';
  else if (dataId !== undefined) text += `,"x":${JSON.stringify(dataId)}`;
  return text;
}

function stateFields(job: StoredJob): string {
  const { anchorAt, expiresAt, tickAt, failures, coveredTo, runs, ended } = job;
  let text = `,"a":${anchorAt},"k":${tickAt}`;
  if (expiresAt !== undefined) text += `,"e":${expiresAt}`;
  if (failures > 0) text += `,"f":${failures}`;
  if (job.crashes > 0) text += `,"i":${job.crashes}`;
  if (job.isBegun) text += ',"g":1';
  if (coveredTo !== undefined) text += `,"c":${coveredTo}`;
  if (runs > 0) text += `,"o":${runs}`;
  if (ended) text += ',"z":1';
  if (job.lastRun !== undefined) text += `,"l":${outcomeText(job.lastRun)}`;
  if (job.resumeAt !== undefined) text += `,"h":${job.resumeAt}`;
  if (job.heldTickAt !== undefined) text += `,"w":${job.heldTickAt}`;
  if (job.basis !== undefined) text += `,"b":${job.basis}`;
  if (job.trace !== undefined) text += `,"y":${JSON.stringify(storedTrace(job.trace))}`;
  return text;
}

function outcomeText({ outcome, endedAt, attempt, durationMs, reason }: JobOutcome): string {
  const text = `[${OUTCOMES.indexOf(outcome)},${endedAt},${attempt},${durationMs}`;
  return reason === undefined ? `${text}]` : `${text},${JSON.stringify(reason)}]`;
}

function outcomeOf([outcome, endedAt, attempt, durationMs, reason]: StoredOutcome): JobOutcome {
  const known = OUTCOMES[outcome] ?? 'failed';
  return { endedAt, outcome: known, attempt, durationMs, ...(reason === undefined ? undefined : { reason }) };
}

/** Reads the stored form back. */
export function decodeJob(key: string, value: Uint8Array): StoredJob {
  return readValue(key, value, { [JOB_FORMAT]: readJob });
}

function readJob(payload: Uint8Array): StoredJob {
  const text = textOf(payload);
  const headerEnd = text.indexOf('\n');
  const { n, s, d, r, t, p, x, a, e, k, f, i, g, c, o, z, l, h, w, b, y } = JSON.parse(
    text.slice(0, headerEnd),
  ) as Header;
  if (headerEnd < 0 || typeof n !== 'string' || !Number.isSafeInteger(a) || !Number.isSafeInteger(k))
    throw new Error('a header with name, anchor and tick was expected');
  return {
    name: n,
    schedule: s,
    dueTime: d,
    repeats: r,
    ttl: t,
    policy: p,
    data: x === 1 ? text.slice(headerEnd + 1) : undefined,
    dataId: x === 1 ? undefined : x,
    anchorAt: a,
    expiresAt: e,
    tickAt: k,
    failures: f ?? 0,
    crashes: i ?? 0,
    isBegun: g === 1,
    coveredTo: c,
    runs: o ?? 0,
    ended: z === 1,
    lastRun: l && outcomeOf(l),
    resumeAt: h,
    heldTickAt: w,
    basis: b,
    trace: y && traceOfStored(y),
  };
}

/** The due time of a job, and the ID of data stored separately: together they locate its entries. */
export interface Pointer {
  readonly at: number;
  readonly dataId: string | undefined;
}

export function encodePointer({ at, dataId }: Pointer): Uint8Array {
  return valueOfText(POINTER_FORMAT, dataId === undefined ? String(at) : `${at} ${dataId}`);
}

export function decodePointer(key: string, value: Uint8Array): Pointer {
  return readValue(key, value, { [POINTER_FORMAT]: readPointer });
}

function readPointer(payload: Uint8Array): Pointer {
  const [at = '', dataId] = textOf(payload).split(' ');
  if (!/^-?\d{1,16}$/.test(at))
    throw new Error(`an instant was expected, actual is ${JSON.stringify(at.slice(0, 40))}`);
  return { at: Number(at), dataId };
}

export function encodeData(data: string): Uint8Array {
  return valueOfText(DATA_FORMAT, data);
}

export function decodeData(key: string, value: Uint8Array): string {
  return readValue(key, value, { [DATA_FORMAT]: textOf });
}

/** Encodes the format and a text payload in one step. */
function valueOfText(format: number, text: string): Uint8Array {
  // A format below 128 is one character and one byte.
  return Buffer.from(String.fromCharCode(format) + text);
}

function textOf(payload: Uint8Array): string {
  return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString();
}
