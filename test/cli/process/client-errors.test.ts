import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { listenOn } from '../../../src/cli/process/listening.ts';

/** A server of the command on a free port. */
async function serve(headLimitBytes?: number, listener = answerOk): Promise<number> {
  const { server, port } = await listenOn({
    host: '127.0.0.1',
    port: 0,
    listener,
    chosenBy: '--http-port',
    ...(headLimitBytes === undefined ? {} : { headLimitBytes }),
  });
  onTestFinished(() => void server.close().closeAllConnections());
  return port;
}

function answerOk(_req: IncomingMessage, res: ServerResponse): void {
  res.end('ok');
}

/** Everything that comes back, until the server closes the connection. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk;
  });
  socket.write(text, 'latin1');
  await once(socket, 'close');
  return received;
}

const HEAD = 'GET /v1.0/metadata HTTP/1.1\r\nhost: a\r\n';

test.each<[what: string, sent: string, status: number, message: RegExp]>([
  [
    'a head of 17 KiB',
    `${HEAD}x: ${'y'.repeat(17 * 1024)}\r\n\r\n`,
    431,
    /larger than the 16384 bytes that are read: --read-/,
  ],
  ['a path of 17 KiB', `GET /${'y'.repeat(17 * 1024)} HTTP/1.1\r\nhost: a\r\n\r\n`, 431, /larger than the 16384 bytes/],
  ['1 MiB of head', `${HEAD}x: ${'y'.repeat(1024 * 1024)}\r\n\r\n`, 431, /larger than the 16384 bytes/],
  ['a field without a colon', `${HEAD}secret\r\n\r\n`, 400, /^the request is not valid HTTP\/1\.1: Invalid header/],
  ['no method', 'secret\r\n\r\n', 400, /^the request is not valid HTTP\/1\.1: Invalid method/],
  ['TLS', '\x16\x03\x01\x02\x00\x01', 400, /^the request is not valid HTTP\/1\.1/],
  ['a length and chunks', `${HEAD}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`, 400, /Transfer-Encoding/],
  ['no host', 'GET /v1.0/metadata HTTP/1.1\r\n\r\n', 400, /^the header host is missing$/],
  [
    'HTTP/2 without TLS',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    505,
    /^HTTP\/2 without TLS is not spoken here: expected HTTP\/1\.1$/,
  ],
])('%s is answered with an error in JSON', async (_what, sent, status, message) => {
  const answer = await exchange(await serve(), sent);
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  expect(head.split('\r\n')[0]).toMatch(new RegExp(`^HTTP/1\\.1 ${status} \\w`));
  expect(head.toLowerCase()).toContain('content-type: application/json');
  expect(head.toLowerCase()).toContain('connection: close');
  expect(JSON.parse(body)).toEqual({ errorCode: 'ERR_BAD_REQUEST', message: expect.stringMatching(message) });
  expect(answer).not.toContain('secret');
});

test('an error in a body whose answer has begun breaks the connection, and adds nothing to the answer', async () => {
  const port = await serve(undefined, (_req, res) => void res.writeHead(200, { 'content-length': 10 }).write('begun'));
  const sent = 'POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n';
  expect(await exchange(port, sent)).not.toContain('400');
});

test('a client of HTTP/2 without TLS gets an error, and the server goes on', async () => {
  const port = await serve();
  const session: ClientHttp2Session = connectHttp2(`http://127.0.0.1:${port}`);
  const [error] = (await once(session, 'error')) as [Error];
  expect(error.message).toMatch(/\w/);
  expect(await exchange(port, `${HEAD}connection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
});

test('HTTP/1.0 needs no host', async () => {
  expect(await exchange(await serve(), 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
});
