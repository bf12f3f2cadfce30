import { SidecarError } from '../../errors.ts';
import type { LiveRecord, MessageOutcome, RecordQuery } from '../api/live.ts';
import type { CallEntry, MessageEntry, RecorderEntry } from './entries.ts';

type Kind = LiveRecord['kind'];

const KINDS: ReadonlySet<string> = new Set<Kind>(['message', 'call', 'job', 'workflow']);
const OUTCOMES: ReadonlySet<string> = new Set<MessageOutcome>([
  'published',
  'delivering',
  'retrying',
  'delivered',
  'dropped',
  'deadLettered',
  'unsettled',
]);

/** Which records are meant. */
export interface RecordFilter {
  /** All but the text, which takes longer. */
  readonly matches: (entry: RecorderEntry) => boolean;
  /** The text, in lower case; `undefined` if there is none. */
  readonly text: string | undefined;
}

/**
 * Reads a {@link RecordQuery}; `kinds` are all that the route offers.
 *
 * @throws SidecarError `ERR_BAD_REQUEST` naming what cannot be understood.
 */
export function readFilter(query: URLSearchParams, kinds?: Kind): RecordFilter {
  const given = (name: keyof RecordQuery): string | undefined => query.get(name) || undefined;
  const ofKind = kinds === undefined ? kindsOf(given('kinds')) : new Set<string>([kinds]);
  const checks: ((entry: RecorderEntry) => boolean)[] = [];
  for (const name of ['pubsubName', 'topic', 'group', 'outcome'] as const) {
    const value = given(name);
    if (value === undefined) continue;
    if (name === 'outcome' && !OUTCOMES.has(value)) throw invalid('outcome', value, [...OUTCOMES].join(', '));
    checks.push((entry) => entry.kind === 'message' && entry[name] === value);
  }
  checks.push(...callChecks(given('target'), given('status')));
  return {
    matches: (entry) => ofKind.has(entry.kind) && checks.every((holds) => holds(entry)),
    text: given('text')?.toLowerCase(),
  };
}

function callChecks(target: string | undefined, status: string | undefined): ((entry: RecorderEntry) => boolean)[] {
  const checks: ((entry: RecorderEntry) => boolean)[] = [];
  const ofCall = (holds: (entry: CallEntry) => boolean): number =>
    checks.push((entry) => entry.kind === 'call' && holds(entry));
  if (target !== undefined) ofCall((call) => call.target === target);
  if (status === undefined) return checks;
  if (!/^(?:0|[1-5]\d\d|[1-5]xx)$/.test(status)) throw invalid('status', status, 'a status such as 503, 5xx or 0');
  if (status.endsWith('xx')) ofCall((call) => Math.floor(call.status / 100) === Number(status[0]));
  else ofCall((call) => call.status === Number(status));
  return checks;
}

function kindsOf(value: string | undefined): ReadonlySet<string> {
  if (value === undefined) return KINDS;
  const asked = value.split(',');
  const unknown = asked.find((kind) => !KINDS.has(kind));
  if (unknown !== undefined) throw invalid('kinds', unknown, [...KINDS].join(', '));
  return new Set(asked);
}

function invalid(name: string, value: string, expected: string): SidecarError {
  return new SidecarError('ERR_BAD_REQUEST', `${name} is ${JSON.stringify(value)}: expected ${expected}`);
}

/** Whether an entry is worth attention. */
export function isFailure(entry: RecorderEntry): boolean {
  switch (entry.kind) {
    case 'message':
      return isFailedMessage(entry);
    case 'call':
      return entry.status === 0 || entry.status >= 500;
    case 'job':
      return entry.outcome !== 'done' && entry.outcome !== 'running';
    case 'workflow':
      return entry.outcome === 'failed' || entry.outcome === 'canceled' || entry.outcome === 'terminated';
  }
}

function isFailedMessage({ outcome }: MessageEntry): boolean {
  return outcome !== 'published' && outcome !== 'delivering' && outcome !== 'delivered';
}
