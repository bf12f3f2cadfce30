import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import express from 'express';
import { expect, test } from 'vitest';
import { nodeListener } from '../../src/adapters/node.ts';
import { readBody } from '../../src/http/body.ts';
import { NO_CONTENT } from '../../src/http/message.ts';
import { memoryPubSub, Sidecar } from '../../src/index.ts';
import { listen, send } from '../support/http.ts';
import { expressParser } from './body-parsers.ts';
import { behind, conforms, serve } from './serve.ts';

conforms(
  (handler, { bodyParser, ...options } = {}) => {
    const listener = nodeListener(handler, options);
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
  const bodies: unknown[] = [cyclic, JSON.parse('['.repeat(depth) + ']'.repeat(depth)), { number: 1n }];
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  await using sidecar = new Sidecar({ appId: 'a', components: [memoryPubSub('pubsub')], logger });
  await sidecar.start();
  const listener = nodeListener(sidecar);
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
    nodeListener({
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
    nodeListener({
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
