import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import express from 'express';
import { expect, test } from 'vitest';
import { nodeHandler } from '../../src/adapters/node.ts';
import { readBody } from '../../src/http/body.ts';
import { NO_CONTENT, type SidecarRequest } from '../../src/http/message.ts';
import { memoryPubSub, Sidecar } from '../../src/index.ts';
import { listen, send } from '../support/http.ts';
import { expressParser } from './body-parsers.ts';
import { behind, conforms, serve } from './serve.ts';

conforms(
  (handler, { bodyParser, ...options } = {}) => {
    const listener = nodeHandler(handler, options);
    const parser = bodyParser === undefined ? undefined : expressParser(bodyParser, express);
    return serve((req, res) => {
      const answer = (): void => listener(req, res, () => behind(req, res));
      if (parser === undefined) answer();
      else parser(req, res, answer);
    });
  },
  ['mount-path'],
);

test('answers 500 when what another middleware has parsed cannot be written out again', async () => {
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;
  const depth = 100_000;
  // Node 26 writes what is nested as deeply as that.
  const nested =
    Number.parseInt(process.versions.node, 10) >= 26 ? [] : [JSON.parse('['.repeat(depth) + ']'.repeat(depth))];
  const bodies: unknown[] = [cyclic, ...nested, { number: 1n }];
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  await using sidecar = new Sidecar({ appId: 'a', components: [memoryPubSub('pubsub')], logger });
  await sidecar.start();
  const listener = nodeHandler(sidecar);
  await using server = await listen((req, res) => {
    req.resume().once('end', () => listener(Object.assign(req, { body: bodies.shift() }), res));
  });
  while (bodies.length > 0) {
    const answer = await send(server.url, 'POST', '/v1.0/publish/pubsub/t', { body: '{}' });
    expect([answer.status, answer.json['errorCode']]).toEqual([500, 'ERR_INTERNAL']);
  }
});

test('requests that are sent one behind the other keep their order, however large and in whatever form', async () => {
  const bodies: string[] = [];
  await using server = await listen(
    nodeHandler({
      handle: async (request) => {
        bodies.push((await readBody(request, 100_000)).toString().slice(0, 3));
        return NO_CONTENT;
      },
    }),
  );
  const known = (body: string): string => `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const chunked = (body: string): string =>
    `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const large = (first: string, length: number): string => first.padEnd(length, '.');
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.resume();
  const parts = [
    known('1st'),
    known(large('2nd', 20_000)),
    chunked('3rd'),
    known('4th'),
    chunked(large('5th', 30_000)),
  ];
  socket.write([...parts, known('6th'), known(large('7th', 90_000)), known('8th')].join(''));
  await expect.poll(() => bodies).toEqual(['1st', '2nd', '3rd', '4th', '5th', '6th', '7th', '8th']);
  socket.destroy();
});

test.each<[how: string, pieces: string[], prepare: (req: IncomingMessage) => void, listens: boolean]>([
  ['with its head', ['née'], () => undefined, false],
  ['after its head', ['', 'née'], () => undefined, true],
  ['in pieces', ['n', 'é', 'e'], () => undefined, true],
  ['with its head, as text', ['née'], (req) => req.setEncoding('utf8'), true],
])('reads a body that arrives %s, and lets the request end', async (_, pieces, prepare, listens) => {
  const seen: Record<string, unknown> = {};
  await using server = await listen((req, res) => {
    prepare(req);
    req.once('close', () => Object.assign(seen, { hasEnded: req.complete && req.readableEnded }));
    nodeHandler({
      handle: async (request) => {
        const body = await readBody(request, 10);
        Object.assign(seen, { body: body.toString(), listens: req.listenerCount('data') > 0 });
        return NO_CONTENT;
      },
    })(req, res);
  });
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  const [first, ...others] = pieces;
  socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n${first}`);
  for (const piece of others) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    socket.write(piece);
  }
  expect(String(await once(socket, 'data'))).toContain('204');
  await expect.poll(() => seen).toEqual({ body: 'née', listens, hasEnded: true });
  socket.destroy();
});

test.each<[who: string, listens: (req: IncomingMessage) => void]>([
  ['that listens', (req) => req.on('data', () => undefined)],
  ['that reads', (req) => req.on('readable', () => req.read())],
  ['that pipes it on', (req) => req.pipe(new PassThrough()).resume()],
  ['that discards it', (req) => req.resume()],
])('reads all of a body beside another middleware %s', async (_, listens) => {
  const bodies: string[] = [];
  await using server = await listen((req, res) => {
    listens(req);
    nodeHandler({
      handle: async (request) => {
        bodies.push((await readBody(request, 20)).toString());
        return NO_CONTENT;
      },
    })(req, res);
  });
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 12\r\n\r\nin the ');
  await new Promise((resolve) => setTimeout(resolve, 20));
  socket.write('whole');
  expect(String(await once(socket, 'data'))).toContain('204');
  expect(bodies).toEqual(['in the whole']);
  socket.destroy();
});

test.each<[who: string, listens: (req: IncomingMessage) => void]>([
  ['that listens', (req) => req.on('data', () => undefined)],
  ['that reads', (req) => req.on('readable', () => req.read())],
  ['that pipes it on', (req) => req.pipe(new PassThrough()).resume()],
])('reads all of a body beside another listener of the server %s', async (_, listens) => {
  const bodies: string[] = [];
  const listener = nodeHandler({
    handle: async (request) => {
      bodies.push((await readBody(request, 20)).toString());
      return NO_CONTENT;
    },
  });
  await using server = await listen(listener);
  server.use((req) => listens(req));
  expect((await send(server.url, 'POST', '/', { body: 'in the whole' })).status).toBe(204);
  expect(bodies).toEqual(['in the whole']);
});

test('refuses a body that somebody else discards before it is read', async () => {
  const errors: unknown[] = [];
  await using server = await listen((req, res) => {
    const handle = (request: SidecarRequest) =>
      readBody(request, 20)
        .catch((error) => errors.push(error))
        .then(() => NO_CONTENT);
    nodeHandler({ handle })(req, res);
    req.resume();
  });
  await send(server.url, 'POST', '/', { body: 'gone' });
  expect(String(errors)).toContain('was read by another middleware');
});

test('a request of another class than those of Node may fail at once', async () => {
  const headers = { 'content-length': '5' };
  const req = Object.assign(new PassThrough(), { method: 'POST', url: '/', headers, httpVersionMajor: 1, socket: {} });
  const res = Object.assign(new PassThrough(), { socket: {} });
  const failed = new Promise((resolve) => {
    const never = new Promise<never>(() => undefined);
    const handle = (request: SidecarRequest): Promise<never> =>
      readBody(request, 5)
        .then(() => never, resolve)
        .then(() => never);
    nodeHandler({ handle })(req as unknown as IncomingMessage, res as unknown as ServerResponse);
  });
  req.destroy(new Error('cut off'));
  expect(String(await failed)).toContain('cut off');
});
