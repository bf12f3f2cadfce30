import { isNoConnection } from '../../../app/no-connection.ts';
import { readAll } from '../../../http/body.ts';
import type { ClientPool } from '../../../http/client-pool.ts';
import { type Body, type Handler, leaveBody, PlainRequest, type SidecarResponse } from '../../../http/message.ts';
import type { Caller, Identity } from '../../../security/identity.ts';
import { cancelTokenOfSignal } from '../../../util/cancel-token.ts';
import type { Wire } from '../../../wire.ts';
import {
  type CallBatch,
  type CallOutcome,
  CallsRefused,
  type ForwardedWait,
  type HostPeer,
  REFUSED_MS,
  UNREACHABLE_MS,
  type WaitAnswer,
} from './call.ts';
import { decodeAnswer, decodeOutcomes, encodeBatch, encodeWaits } from './call-codec.ts';
import { inTime, TIME_LIMIT_MS } from './time-limit.ts';

/** The paths of calls between hosts, for `sidecar.peers` only. */
export const CALLS_PATH = '/hosts/v1/workflows/calls';
export const WAITS_PATH = '/hosts/v1/workflows/waits';

/** Max size of the response to a batch, and max length of an instance's view. */
const MAX_OUTCOMES_BYTES = 1024 * 1024;
const MAX_LINE_LENGTH = 64 * 1024 * 1024;
/** Statuses that mean nothing was done: a release without forwarding, another program, or no permission. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 413, 415]);
const TOO_LARGE = 413;

/** The dependencies of a {@link RemoteHost}. */
export interface RemoteHostDeps {
  readonly own: Pick<Caller, 'appId' | 'namespace'>;
  readonly identity: Identity;
  readonly wire: Wire;
  readonly clients: ClientPool;
}

/** A host of another process, at its address. */
export class RemoteHost implements HostPeer {
  readonly #deps: RemoteHostDeps;
  readonly #handle: Handler;
  readonly #base: string;

  constructor(deps: RemoteHostDeps, address: URL) {
    this.#deps = deps;
    this.#handle = deps.clients.clientOf(address.origin).handle;
    this.#base = address.pathname.replace(/\/+$/, '');
  }

  async call(batch: CallBatch): Promise<readonly CallOutcome[]> {
    const { body } = await this.#post(CALLS_PATH, encodeBatch(batch), AbortSignal.timeout(TIME_LIMIT_MS));
    return decodeOutcomes(await readAll(body, MAX_OUTCOMES_BYTES), batch.calls.length);
  }

  async *wait(waits: readonly ForwardedWait[], signal: AbortSignal): AsyncIterable<readonly WaitAnswer[]> {
    const { body } = await inTime(this.#post(WAITS_PATH, encodeWaits(waits), signal));
    for await (const lines of linesOf(body)) yield lines.filter((line) => line !== '').map(decodeAnswer);
  }

  async #post(path: string, body: Uint8Array, signal: AbortSignal): Promise<SidecarResponse> {
    const { identity, own, wire } = this.#deps;
    const headers = {
      'content-type': 'application/json',
      'content-length': String(body.length),
      [wire.headers.identity]: await identity.sign(own),
    };
    const request = new PlainRequest('POST', this.#base + path, headers, body, cancelTokenOfSignal(signal));
    const response = await this.#handle(request).catch((error: unknown) => {
      throw isNoConnection(error) ? new CallsRefused('the host cannot be reached', UNREACHABLE_MS, error) : error;
    });
    if (response.status === 200) return response;
    leaveBody(response.body);
    const problem = `the host answers ${response.status} to ${path}`;
    if (!REFUSALS.has(response.status)) throw new Error(problem);
    // A smaller batch may be accepted.
    throw new CallsRefused(problem, response.status === TOO_LARGE ? 0 : REFUSED_MS);
  }
}

/** The lines that come together. */
async function* linesOf(body: Body): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_LENGTH) throw new Error('an answer of another host does not end');
    yield lines;
  }
}
