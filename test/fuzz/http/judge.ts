import type { Kind } from './fuzzed-sidecar.ts';
import type { Spec } from './grammar.ts';

/** An answer, in any way that it came. */
export interface Reply {
  readonly status: number;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** What is to be known of a reply beside the request. */
export interface Circumstances {
  readonly kind: Kind;
  /** A request has asked the sidecar to stop. */
  readonly isShuttingDown: boolean;
}

/** Every header field that the sidecar answers with, by itself. */
const OUR_HEADERS = new Set([
  ...[
    'content-type',
    'content-length',
    'allow',
    'retry-after',
    'date',
    'connection',
    'keep-alive',
    'transfer-encoding',
  ],
]);

/** The failures with a status from 500 on that the contract and docs/http-api.md name, and what their messages say. */
const FAILURES: Readonly<Record<string, readonly [status: number, message: RegExp]>> = {
  // The sidecars have none of these stores.
  ERR_STATE_STORE_NOT_CONFIGURED: [500, /is not configured/],
  ERR_LOCK_STORE_NOT_CONFIGURED: [500, /is not configured/],
  ERR_CONFIGURATION_STORE_NOT_CONFIGURED: [500, /is not configured/],
  ERR_SECRET_STORES_NOT_CONFIGURED: [500, /is not configured/],
  ERR_PUBSUB_CLOUD_EVENTS_SER: [500, /./],
  ERR_PUBSUB_PUBLISH_MESSAGE: [500, /the queue in memory is full|may have 8 MiB|maxBulkPubBytes/],
  SCHEDULER_GET_JOB: [500, /job not found/],
  ERR_START_WORKFLOW: [500, /already exists/],
  ERR_PURGE_WORKFLOW: [500, /./],
  ERR_DIRECT_INVOKE: [500, /./],
  ERR_HEALTH_APPID_NOT_MATCH: [500, /./],
};

/** Says what is wrong with a reply; `undefined` when it is as the contract has it. */
export function problemOf(reply: Reply, spec: Spec, circumstances: Circumstances): string | undefined {
  const { status, headers, body } = reply;
  if (status < 200 || status > 599) return `the status is ${status}`;
  if (headers['x-smuggled'] !== undefined) return 'a header field of the path or query is in the answer';
  // What the application or another service answers is its own affair.
  if (headers['x-from-app'] !== undefined || isPassedOn(reply, spec)) return undefined;
  const foreign = Object.keys(headers).find((name) => !OUR_HEADERS.has(name));
  if (foreign !== undefined) return `the answer has the header ${foreign}`;
  if (status >= 400) return errorProblem(reply, spec, circumstances);
  if (status === 204 || status === 202) return successProblem(reply, spec);
  if (status !== 200) return `the status is ${status}`;
  return spec.method === 'HEAD' ? undefined : jsonProblem(body);
}

/** An application in this process that fails before it has set a header. */
function isPassedOn({ status, headers }: Reply, { headers: sent }: Spec): boolean {
  return status < 400 && headers['location'] !== undefined && sent.length > 0;
}

function successProblem({ status, headers, body }: Reply, { target }: Spec): string | undefined {
  if (body.length === 0) return headers['content-type'] === undefined ? undefined : 'a type without a body';
  if (status === 204 || !target.includes('start')) return `a body with status ${status}`;
  return jsonProblem(body);
}

function jsonProblem(body: Buffer): string | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null ? undefined : 'the body is no object';
  } catch {
    return `the body is not JSON: ${body.toString().slice(0, 200)}`;
  }
}

function errorProblem(reply: Reply, spec: Spec, circumstances: Circumstances): string | undefined {
  const { status, headers, body } = reply;
  if (headers['content-type'] !== 'application/json') return `an error of type ${String(headers['content-type'])}`;
  if (spec.method === 'HEAD') return body.length === 0 ? undefined : 'HEAD is answered with a body';
  const problem = jsonProblem(body);
  if (problem !== undefined) return problem;
  const error = JSON.parse(body.toString()) as Record<string, unknown>;
  return shapeProblem(error) ?? (status < 500 ? undefined : failureProblem(status, error, circumstances));
}

function shapeProblem(error: Record<string, unknown>): string | undefined {
  const { errorCode, message, details, failedEntries, ...rest } = error;
  if (typeof errorCode !== 'string' || !/^[A-Z]+(_[A-Z]+)+$/.test(errorCode))
    return `errorCode is ${String(errorCode)}`;
  if (Object.keys(rest).length > 0) return `the error has ${Object.keys(rest).join()}`;
  if (failedEntries !== undefined) return Array.isArray(failedEntries) ? undefined : 'failedEntries is no list';
  if (typeof message !== 'string' || message === '') return 'the error has no message';
  if (details !== undefined && !Array.isArray(details)) return 'details is no list';
  return /\n\s+at |node_modules|\/src\/|file:\/\//.test(message) ? `the message shows code: ${message}` : undefined;
}

function failureProblem(
  status: number,
  error: Record<string, unknown>,
  { kind, isShuttingDown }: Circumstances,
): string | undefined {
  const text = JSON.stringify(error);
  const code = String(error['errorCode']);
  if (code === 'ERR_SHUTTING_DOWN' && isShuttingDown && status === 503) return undefined;
  if (isShuttingDown && (code.endsWith('_JOB') || code.endsWith('_WORKFLOW') || code.includes('HEALTH_NOT_READY')))
    return undefined;
  // The placement table of a host that has left.
  if (isShuttingDown && error['message'] === 'the sidecar is not running') return undefined;
  if (code === 'ERR_DIRECT_INVOKE' && status === 501) return undefined;
  const prefix = kind.wire === 'dapr' ? 'DAPR_' : 'SIDECAR_';
  const [expected, message] = FAILURES[code.startsWith(prefix) ? code.slice(prefix.length) : code] ?? [];
  if (expected === status && message?.test(text)) return undefined;
  return `status ${status}: ${text.slice(0, 500)}`;
}
