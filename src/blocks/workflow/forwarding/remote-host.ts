import { isNoConnection } from '../../../app/no-connection.ts';
import type { ClientPool } from '../../../http/client-pool.ts';
import { type Handler, leaveBody, PlainRequest } from '../../../http/message.ts';
import type { Caller, Identity } from '../../../security/identity.ts';
import { CancelSource } from '../../../util/cancel-token.ts';
import type { Wire } from '../../../wire.ts';
import { CallsRefused, type HostPeer, type PeerReplies, type PeerSession, REFUSED_MS, UNREACHABLE_MS } from './call.ts';
import { decodeReply, encodeRequest } from './call-codec.ts';
import { LineStream } from './line-stream.ts';
import { inTime } from './time-limit.ts';

/** The path of sessions between hosts, for `sidecar.peers` only. Its version is that of the lines. */
export const SESSION_PATH = '/hosts/v2/workflows';

/** Statuses of another release, another program, or no permission. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 413, 415]);

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
  readonly #path: string;

  constructor(deps: RemoteHostDeps, address: URL) {
    this.#deps = deps;
    this.#handle = deps.clients.clientOf(address.origin).handle;
    this.#path = address.pathname.replace(/\/+$/, '') + SESSION_PATH;
  }

  /** A session is one request: its body are requests, the body of its response replies, a line each. */
  async open(replies: PeerReplies): Promise<PeerSession> {
    const { identity, own, wire } = this.#deps;
    const broken = new CancelSource();
    const stream = new LineStream({
      onLine: (line) => decodeReply(line, replies),
      onEnd: (error) => {
        const reason = error ?? new Error('the session has ended');
        // Nothing that may still come matters.
        broken.abort(reason);
        replies.ended(reason);
      },
    });
    try {
      const headers = { 'content-type': 'application/x-ndjson', [wire.headers.identity]: await identity.sign(own) };
      // The client sends the head with the first bytes.
      stream.send('\n');
      const request = new PlainRequest('POST', this.#path, headers, stream.outgoing, broken);
      const { status, body } = await inTime(this.#handle(request));
      if (status === 200) void stream.read(body);
      else {
        leaveBody(body);
        const problem = `the host answers ${status} to ${this.#path}`;
        throw new CallsRefused(problem, REFUSALS.has(status) ? REFUSED_MS : UNREACHABLE_MS);
      }
    } catch (error) {
      stream.end(error);
      throw isNoConnection(error) ? new CallsRefused('the host cannot be reached', UNREACHABLE_MS, error) : error;
    }
    return { send: (request) => stream.send(encodeRequest(request)), close: () => stream.end() };
  }
}
