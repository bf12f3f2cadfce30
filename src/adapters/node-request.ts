import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Abortion, PlainRequest } from '../http/message.ts';
import { contentOf, type ParsedBody } from './parsed-body.ts';

/** One for all: it says nothing of a single request. */
const DEPARTED = new Error('the caller went away');

/** A request of node:http. */
export class NodeRequest extends PlainRequest {
  constructor(req: IncomingMessage, res: ServerResponse, { url, parsed }: { url: string; parsed: ParsedBody }) {
    const { headers, body } = contentOf(req, parsed);
    super(req.method ?? 'GET', url, headers, body === req ? new UnreadBody(req) : body, new Departure(res));
  }
}

/** The caller has gone: the response is closed and not finished. */
class Departure implements Abortion {
  readonly #res: ServerResponse;
  readonly reason: Error = DEPARTED;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  get aborted(): boolean {
    return this.#res.destroyed && !this.#res.writableFinished;
  }

  onAbort(listener: () => void): () => void {
    const onClose = (): void => {
      if (!this.#res.writableFinished) listener();
    };
    this.#res.once('close', onClose);
    return () => this.#res.removeListener('close', onClose);
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

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#req.iterator({ destroyOnReturn: false });
  }
}
