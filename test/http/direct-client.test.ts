import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished, test } from 'vitest';
import { isNoConnection } from '../../src/app/no-connection.ts';
import { readAll } from '../../src/http/body.ts';
import { directClient } from '../../src/http/direct-client.ts';
import { type HeaderMap, request, type SidecarResponse } from '../../src/http/message.ts';

type Answer = (socket: Socket, head: string, call: number) => void;

interface Opened {
  readonly send: (method: string, path: string, init?: Parameters<typeof request>[2]) => Promise<SidecarResponse>;
  /** The heads and bodies that arrived. */
  readonly arrived: string[];
  readonly connections: Socket[];
  readonly port: number;
}

/** A server that speaks bytes: answers each arrival, which has to be one whole request. */
async function open(answer: Answer): Promise<Opened> {
  const arrived: string[] = [];
  const connections: Socket[] = [];
  const server: Server = createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      arrived.push(chunk.toString('latin1'));
      answer(socket, chunk.toString('latin1'), arrived.length);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = directClient('127.0.0.1', port);
  onTestFinished(async () => {
    await client.close();
    for (const socket of connections) socket.destroy();
    server.close();
  });
  return { send: (method, path, init) => client.handle(request(method, path, init)), arrived, connections, port };
}

const textOf = async ({ body }: SidecarResponse): Promise<string> => (await readAll(body, 1e9)).toString();
const whole = (body: string, more = ''): string =>
  `HTTP/1.1 200 OK\r\n${more}content-length: ${body.length}\r\n\r\n${body}`;

test('sends a request as it is, and reuses its connection', async () => {
  const { send, arrived, connections, port } = await open((socket, _head, call) => socket.write(whole(String(call))));
  const headers: HeaderMap = { 'content-type': 'text/plain', 'x-list': ['1', '2'], 'content-length': '99' };
  assert.equal(await textOf(await send('POST', '/a/%20?b=c', { headers, body: 'hello' })), '1');
  assert.equal(await textOf(await send('GET', '/')), '2');
  assert.equal(await textOf(await send('PUT', '/')), '3');
  const host = `host: 127.0.0.1:${port}\r\n`;
  const fields = 'content-type: text/plain\r\nx-list: 1\r\nx-list: 2\r\nconnection: keep-alive\r\ncontent-length: 5';
  assert.deepEqual(arrived, [
    `POST /a/%20?b=c HTTP/1.1\r\n${host}${fields}\r\n\r\nhello`,
    `GET / HTTP/1.1\r\n${host}connection: keep-alive\r\n\r\n`,
    `PUT / HTTP/1.1\r\n${host}connection: keep-alive\r\ncontent-length: 0\r\n\r\n`,
  ]);
  assert.equal(connections.length, 1);
});

test.for([
  { name: 'x-a', value: 'b\r\nx-evil: 1' },
  { name: 'x-a\r\nx-evil', value: '1' },
  { name: 'x-a', value: 'ā' },
])('refuses a header field that is not one: %j', async ({ name, value }) => {
  const { send, arrived } = await open((socket) => socket.write(whole('')));
  await assert.rejects(send('GET', '/', { headers: { [name]: value } }));
  assert.deepEqual(arrived, []);
});

test.for(['/a b', '/a\r\nx-evil: 1', '/ā'])('refuses a path that is not one: %j', async (path) => {
  const { send, arrived } = await open((socket) => socket.write(whole('')));
  await assert.rejects(send('GET', path));
  assert.deepEqual(arrived, []);
});

test('reads a large body as it comes', async () => {
  const body = 'x'.repeat(300_000);
  const { send, connections } = await open((socket) => socket.write(whole(body)));
  const response = await send('GET', '/');
  assert.ok(!(response.body instanceof Uint8Array));
  assert.equal(await textOf(response), body);
  assert.equal(await textOf(await send('GET', '/')), body);
  assert.equal(connections.length, 1);
});

const ENDINGS: readonly (readonly [what: string, answer: string])[] = [
  ['says that it closes', whole('x', 'connection: close\r\n')],
  ['is of HTTP/1.0', whole('x').replace('1.1', '1.0')],
  ['says that it keeps it for a moment only', whole('x', 'keep-alive: timeout=2\r\n')],
  ['sends more than the response', `${whole('x')}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`],
];

test.for(ENDINGS)('does not use the connection again when the server %s', async ([, answer]) => {
  const { send, connections } = await open((socket) => socket.write(answer));
  assert.equal(await textOf(await send('GET', '/')), 'x');
  assert.equal(await textOf(await send('GET', '/')), 'x');
  assert.equal(connections.length, 2);
});

test('does not use a connection again that the server has closed while it was idle', async () => {
  const { send, connections } = await open((socket, _head, call) => socket.write(whole(String(call))));
  await textOf(await send('GET', '/'));
  const [idle] = connections;
  assert.ok(idle);
  const closed = once(idle, 'close');
  idle.end();
  await closed;
  assert.equal(await textOf(await send('POST', '/')), '2');
});

test('reads a body that ends with the connection', async () => {
  const { send } = await open((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nuntil the end'));
  assert.equal(await textOf(await send('GET', '/')), 'until the end');
});

test.for(['', 'HTTP/1.1 200 OK\r\ncont', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell'])(
  'fails a call whose connection ends early, as one that may have been done: after %j',
  async (answer) => {
    const { send } = await open((socket) => socket.end(answer));
    await assert.rejects(send('GET', '/').then(textOf), (error: Error) => !isNoConnection(error));
  },
);

test('fails a call whose response is not HTTP, and goes on with the next', async () => {
  const { send } = await open((socket, _head, call) => socket.write(call === 1 ? 'nonsense\r\n\r\n' : whole('x')));
  await assert.rejects(send('GET', '/'), /not valid HTTP/);
  assert.equal(await textOf(await send('GET', '/')), 'x');
});

test('says that nobody listens, so that nothing was sent', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const client = directClient('127.0.0.1', port);
  await assert.rejects(client.handle(request('POST', '/', { body: 'x' })), isNoConnection);
  await client.close();
  await assert.rejects(client.handle(request('POST', '/', { body: 'x' })), /closed/);
});

test('fails the calls in progress when it is closed', async () => {
  const { port } = await open(() => undefined);
  const client = directClient('127.0.0.1', port);
  const failed = assert.rejects(client.handle(request('GET', '/')), /closed/);
  await client.close();
  await failed;
});

const LARGE_BODY = Buffer.alloc(32 * 1024 * 1024, 'x');

const EARLY_ANSWERS: readonly (readonly [what: string, after: (socket: Socket) => void])[] = [
  ['keeps the connection without reading on', (socket) => socket.pause()],
  ['ends the connection without reading on', (socket) => socket.pause().end()],
  ['ends the connection and reads on', (socket) => socket.end()],
];

test.for(EARLY_ANSWERS)(
  'takes the answer to a large request that was not read, when the server %s',
  async ([, after]) => {
    const { send, connections } = await open((socket, head) => {
      if (!head.startsWith('P')) return;
      socket.write('HTTP/1.1 413 Payload Too Large\r\ncontent-length: 9\r\n\r\ntoo large');
      after(socket);
    });
    for (let call = 1; call <= 2; call++) {
      const response = await send('POST', '/', { body: LARGE_BODY });
      assert.equal(response.status, 413);
      assert.equal(await textOf(response), 'too large');
      assert.equal(connections.length, call);
    }
  },
);

test('fails a large request when the server breaks the connection off', async () => {
  const { send } = await open((socket) => socket.resetAndDestroy());
  await assert.rejects(send('POST', '/', { body: LARGE_BODY }), (error: NodeJS.ErrnoException) =>
    ['ECONNRESET', 'EPIPE'].includes(error.code ?? ''),
  );
});

test.each([70_000, 100_000, 120_000])(
  'reads the next response on a connection whose last one was paused at its end: %i bytes',
  async (bytes) => {
    const body = 'x'.repeat(bytes);
    const { send, connections } = await open((socket, _head, call) => socket.write(whole(call === 1 ? body : 'next')));
    const response = await send('GET', '/');
    // The reader comes late: the rest has arrived, and the socket has been paused.
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal((await textOf(response)).length, bytes);
    assert.equal(await textOf(await send('GET', '/')), 'next');
    assert.equal(connections.length, 1);
  },
);
