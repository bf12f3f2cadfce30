import { type ClientHttp2Session, connect, createServer, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { nodeHandler } from '../../src/index.ts';

interface Http2Answer {
  readonly status: number | undefined;
  readonly text: string;
}

/** A server of HTTP/2 without TLS, and a session with it. */
export async function http2Session(listener: ReturnType<typeof nodeHandler>) {
  const server = createServer((req, res) => listener(req as never, res as never));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const connectAnew = (): ClientHttp2Session => connect(`http://127.0.0.1:${port}`);
  const session = connectAnew();
  const close = async (): Promise<void> => {
    await new Promise<void>((resolve) => session.close(resolve));
    await new Promise((resolve) => server.close(resolve));
  };
  return { port, session, connectAnew, [Symbol.asyncDispose]: close };
}

/** One request and its answer. */
export function ask(session: ClientHttp2Session, headers: IncomingHttpHeaders, body?: string): Promise<Http2Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined });
    let status: number | undefined;
    const parts: Buffer[] = [];
    stream.on('response', (fields) => {
      status = fields[':status'];
    });
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('end', () => resolve({ status, text: Buffer.concat(parts).toString() }));
    stream.on('error', reject);
    if (body !== undefined) stream.end(body);
  });
}
