import express from 'express';
import { expect, test } from 'vitest';
import { nodeListener } from '../../src/adapters/node.ts';
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
