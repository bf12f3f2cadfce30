import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import querystring from 'node:querystring';
import { buffer } from 'node:stream/consumers';
import { test } from 'vitest';
import type { AdapterNeed, BodyParser, MountAdapter, MountedAdapter } from '../../src/kit/adapter-case.ts';
import { adapterConformance } from '../../src/kit/adapter-conformance.ts';
import { listen } from '../support/http.ts';

/** Runs the suite; `lacks` names what the framework does not have. */
export function conforms(mount: MountAdapter, lacks: readonly AdapterNeed[] = []): void {
  for (const { name, needs = [], run } of adapterConformance) {
    test.skipIf(needs.some((need) => lacks.includes(need)))(name, () => run(mount));
  }
}

/** Listens on a port of the system's choice. */
export async function serve(listener: RequestListener): Promise<MountedAdapter> {
  const server = await listen(listener);
  return { url: server.url, close: async () => server[Symbol.asyncDispose]() };
}

/** The application behind the adapter: tells what the adapter has passed on. */
export function behind(req: IncomingMessage, res: ServerResponse): void {
  void buffer(req).then((body) => {
    res.writeHead(299).end(`${req.method} ${(req as { originalUrl?: string }).originalUrl ?? req.url} ${body}`);
  });
}

/** The raw bytes of a body, and how it is left on a request. */
export async function parse(req: IncomingMessage, parser: BodyParser): Promise<{ body?: unknown; rawBody?: unknown }> {
  const raw = await buffer(req);
  switch (parser) {
    case 'bytes':
      return { body: raw };
    case 'text':
      return { body: raw.toString() };
    case 'json':
      // As the parsers of frameworks do with nothing.
      return { body: raw.length === 0 ? {} : JSON.parse(raw.toString()) };
    case 'json-and-raw':
      return { body: JSON.parse(raw.toString()), rawBody: raw };
    case 'form':
      return { body: querystring.parse(raw.toString()) };
    case 'nothing':
      return {};
  }
}
