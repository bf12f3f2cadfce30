import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

/** Serves a fetch function on node:http with Node's own `Request` and `Response`; the same for every contender. */
export function fetchServer(handler: (request: Request) => Promise<Response>): Server {
  return createServer((req, res) => void answer(handler, req, res));
}

async function answer(
  handler: (request: Request) => Promise<Response>,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const init: RequestInit = { method: req.method ?? 'GET', headers: pairs(req.rawHeaders) };
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    init.body = Readable.toWeb(req);
    init.duplex = 'half';
  }
  const response = await handler(new Request(`http://127.0.0.1${req.url}`, init));
  res.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) res.end();
  else res.end(Buffer.from(await response.arrayBuffer()));
}

function pairs(raw: readonly string[]): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at] ?? '', raw[2 * at + 1] ?? '']);
}
