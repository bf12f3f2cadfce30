import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FetchHandler } from '../../src/adapters/fetch.ts';

/** A small server for fetch functions, as runtimes have one built in; streams both ways. */
export function fetchListener(fetch: FetchHandler): RequestListener {
  return (req, res) => {
    const gone = new AbortController();
    res.once('close', () => res.writableFinished || gone.abort(new Error('the client has gone')));
    fetch(toRequest(req, gone.signal)).then(
      (response) => write(response, req, res),
      () => res.writeHead(500).end(),
    );
  };
}

function toRequest(req: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (let at = 0; at < req.rawHeaders.length; at += 2)
    headers.append(req.rawHeaders[at] ?? '', req.rawHeaders[at + 1] ?? '');
  const url = req.url?.startsWith('/') === false ? req.url : `http://127.0.0.1${req.url}`;
  const init = { method: req.method ?? 'GET', headers, signal };
  if (init.method === 'GET' || init.method === 'HEAD') return new Request(url, init);
  return new Request(url, { ...init, body: bodyOf(req), duplex: 'half' });
}

/** Leaving it does not destroy the connection, on which the answer has still to go out. */
function bodyOf(req: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks = req.iterator({ destroyOnReturn: false });
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

async function write(response: Response, req: IncomingMessage, res: ServerResponse): Promise<void> {
  res.statusCode = response.status;
  for (const [name, value] of response.headers) if (name !== 'set-cookie') res.setHeader(name, value);
  if (response.headers.getSetCookie().length > 0) res.setHeader('set-cookie', response.headers.getSetCookie());
  // A connection that closes while the client is still sending could lose the answer.
  const closes = !req.complete && !res.shouldKeepAlive;
  if (!closes) res.once('finish', () => req.resume());
  if (response.body === null) return void res.end();
  // Since Node 24, a pipeline to what is destroyed refuses at once, and leaves the source as it is.
  if (res.destroyed) return response.body.cancel();
  res.flushHeaders();
  // Ends in the destruction of both when either breaks.
  const body = Readable.fromWeb(response.body as import('node:stream/web').ReadableStream);
  await pipeline(body, res, { end: !closes }).catch(() => undefined);
  if (!closes) return;
  if (!req.complete) await Promise.race([once(req.resume(), 'end'), once(req, 'close')]).catch(() => undefined);
  res.end();
}
