import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import querystring from 'node:querystring';
import { test } from 'vitest';
import type { AdapterNeed, BodyParser, MountAdapter, MountedAdapter } from '../../src/testing/adapter-case.ts';
import { adapterConformance } from '../../src/testing/adapter-conformance.ts';

/** Runs the suite; `lacks` names what the framework does not have. */
export function conforms(mount: MountAdapter, lacks: readonly AdapterNeed[] = []): void {
  for (const { name, needs = [], run } of adapterConformance) {
    test.skipIf(needs.some((need) => lacks.includes(need)))(name, () => run(mount));
  }
}

/** Listens on a port of the system's choice. */
export async function serve(listener: RequestListener): Promise<MountedAdapter> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The application behind the adapter: tells what the adapter has passed on. */
export function behind(req: IncomingMessage, res: ServerResponse): void {
  void read(req).then((body) => {
    res.writeHead(299).end(`${req.method} ${(req as { originalUrl?: string }).originalUrl ?? req.url} ${body}`);
  });
}

/** The raw bytes of a body, and how it is left on a request. */
export async function parse(req: IncomingMessage, parser: BodyParser): Promise<{ body?: unknown; rawBody?: unknown }> {
  const raw = await read(req);
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

async function read(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
