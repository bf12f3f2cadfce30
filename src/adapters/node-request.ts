import type { IncomingMessage, ServerResponse } from 'node:http';
import { PlainRequest } from '../http/message.ts';
import { contentOf, type ParsedBody } from './parsed-body.ts';

/** A request of node:http. */
export class NodeRequest extends PlainRequest {
  readonly #res: ServerResponse;
  #gone: AbortSignal | undefined;

  constructor(req: IncomingMessage, res: ServerResponse, { url, parsed }: { url: string; parsed: ParsedBody }) {
    const { headers, body } = contentOf(req, parsed);
    super(req.method ?? 'GET', url, headers, body === req ? new UnreadBody(req) : body);
    this.#res = res;
  }

  override get signal(): AbortSignal {
    this.#gone ??= signalOfClose(this.#res);
    return this.#gone;
  }
}

/** As the events of streams have them. */
type Listener = (...args: unknown[]) => void;

/**
 * A body on its way in. Who leaves it before its end does not destroy the request, as Node's own iterator would: the
 * answer has still to go out on that connection. It has the events of a Node stream, which are faster to read.
 */
class UnreadBody implements AsyncIterable<Uint8Array> {
  readonly #req: IncomingMessage;

  constructor(req: IncomingMessage) {
    this.#req = req;
  }

  on(event: string, listener: Listener): void {
    this.#req.on(event, listener);
  }

  removeListener(event: string, listener: Listener): void {
    this.#req.removeListener(event, listener);
  }

  resume(): void {
    this.#req.resume();
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#req.iterator({ destroyOnReturn: false });
  }
}

function signalOfClose(res: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => {
    if (!res.writableFinished) controller.abort(new Error('the caller went away'));
  };
  if (res.destroyed) abort();
  else res.once('close', abort);
  return controller.signal;
}
