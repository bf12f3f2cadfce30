import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import express from 'express';
import express4 from 'express4';
import fastify from 'fastify';
import Koa from 'koa';
import { describe, expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import { bytesOf, gate } from '../../src/kit/adapter-case.ts';
import { listenerWays, open } from './open.ts';

const MIB_OF_JSON = { items: Array.from({ length: 40_000 }, (_, index) => ({ index, name: `item ${index}` })) };

describe.each(Object.entries(listenerWays))('framework %s', (_name, way) => {
  const reply = async (
    app: Parameters<typeof way>[0],
    method: string,
    url: string,
    init: Parameters<typeof request>[2] = {},
  ) => {
    await using opened = await open(way, app);
    const { status, headers, body } = await opened.channel.handle(request(method, url, init));
    return { status, headers, text: (await bytesOf(body)).toString() };
  };

  describe.each([
    ['Express 5', express],
    ['Express 4', express4],
  ] as const)('%s', (_release, framework) => {
    const app = framework();
    app.set('etag', 'strong');
    app.use(framework.json({ limit: '5mb' }));
    app.post('/json', (req, res) => void res.status(202).json({ got: req.body as unknown }));
    app.get(
      '/about',
      (req, res) => void res.json([req.ip, req.protocol, req.secure, req.hostname, req.originalUrl, req.query]),
    );
    app.get('/file', (_req, res) => res.sendFile(`${process.cwd()}/package.json`));
    app.get('/redirect', (_req, res) => res.redirect(303, '/file'));
    app.get('/fault', () => {
      throw new Error('on purpose');
    });
    app.get('/cookies', (_req, res) => void res.cookie('a', '1').cookie('b', '2').sendStatus(204));
    app.use(
      ((error: Error, _req, res, _next) => void res.status(500).send(error.message)) as express.ErrorRequestHandler,
    );

    test('JSON is parsed by express.json() and answered by res.json()', async () => {
      const answer = await reply(app, 'POST', '/json', { body: MIB_OF_JSON });
      expect(answer.status).toBe(202);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(JSON.parse(answer.text)).toEqual({ got: MIB_OF_JSON });
    });

    test('req tells what it tells of a local connection', async () => {
      const { text } = await reply(app, 'GET', '/about?a=b', { headers: { host: 'orders.local' } });
      expect(JSON.parse(text)).toEqual(['127.0.0.1', 'http', false, 'orders.local', '/about?a=b', { a: 'b' }]);
    });

    test('res.sendFile() sends a file, a part of it, its head, or nothing new', async () => {
      const whole = await reply(app, 'GET', '/file');
      expect(JSON.parse(whole.text)).toMatchObject({ name: 'insidecar' });
      const part = await reply(app, 'GET', '/file', { headers: { range: 'bytes=0-9' } });
      expect([part.status, part.text.length]).toEqual([206, 10]);
      const head = await reply(app, 'HEAD', '/file');
      expect([head.text, head.headers['content-length']]).toEqual(['', String(Buffer.byteLength(whole.text))]);
      const same = await reply(app, 'GET', '/file', { headers: { 'if-none-match': String(whole.headers['etag']) } });
      expect([same.status, same.text]).toEqual([304, '']);
    });

    test('res.redirect(), res.cookie(), 404 and the error handler answer', async () => {
      const redirect = await reply(app, 'GET', '/redirect');
      expect([redirect.status, redirect.headers['location']]).toEqual([303, '/file']);
      expect((await reply(app, 'GET', '/cookies')).headers['set-cookie']).toEqual(['a=1; Path=/', 'b=2; Path=/']);
      expect((await reply(app, 'GET', '/missing')).status).toBe(404);
      const fault = await reply(app, 'GET', '/fault');
      expect([fault.status, fault.text]).toEqual([500, 'on purpose']);
    });
  });

  test('Koa answers text, JSON, streams and errors', async () => {
    const app = new Koa();
    app.silent = true;
    app.use((context) => {
      if (context.path === '/fault') context.throw(409, 'on purpose');
      if (context.path === '/stream') context.body = Readable.from([Buffer.from('one'), Buffer.from('two')]);
      else if (context.path === '/json') context.body = { ip: context.ip, protocol: context.protocol };
      else if (context.path === '/empty') context.status = 204;
    });
    const koa = app.callback();
    expect((await reply(koa, 'GET', '/stream')).text).toBe('onetwo');
    expect(JSON.parse((await reply(koa, 'GET', '/json')).text)).toEqual({ ip: '127.0.0.1', protocol: 'http' });
    expect((await reply(koa, 'HEAD', '/json')).headers['content-length']).toBe('36');
    expect((await reply(koa, 'GET', '/empty')).status).toBe(204);
    expect((await reply(koa, 'GET', '/missing')).status).toBe(404);
    expect((await reply(koa, 'GET', '/fault')).status).toBe(409);
  });

  test('what loggers listen to tells of the end and of a caller who goes', async () => {
    const ends: string[] = [];
    const begun = gate();
    const gone = gate();
    await using opened = await open(way, (req, res) => {
      onceFinished(res, () => {
        ends.push(req.url ?? '');
        if (req.url === '/stays') gone.open();
      });
      if (req.url === '/stays') begun.open();
      else res.end('done');
    });
    await bytesOf((await opened.channel.handle(request('GET', '/ends'))).body);
    const caller = new AbortController();
    const stays = opened.channel.handle(request('GET', '/stays', { signal: caller.signal })).catch(() => undefined);
    await begun.opened;
    caller.abort(new Error('enough'));
    await Promise.all([stays, gone.opened]);
    expect(ends).toEqual(['/ends', '/stays']);
  });
});

describe('framework Fastify, in this process', () => {
  const app = fastify();
  app.addContentTypeParser(
    'application/cloudevents+json',
    { parseAs: 'string' },
    app.getDefaultJsonParser('error', 'error'),
  );
  app.post('/json', async (req, res) => res.code(202).send({ got: req.body }));
  app.get('/about', async (req) => [req.ip, req.protocol, req.hostname, req.url, req.query]);
  app.get('/stream', (_req, res) => res.send(Readable.from([Buffer.from('one'), Buffer.from('two')])));
  app.get('/fault', async () => {
    throw new Error('on purpose');
  });
  app.get('/schema', { schema: { querystring: { type: 'object', required: ['n'] } } }, async () => 'valid');
  app.addHook('onResponse', async (req, res) => void finished.push(`${req.url} ${res.statusCode}`));
  const finished: string[] = [];

  const reply = async (method: string, url: string, init: Parameters<typeof request>[2] = {}) => {
    await using opened = await open(async (listener: typeof app) => [{ listener }, async () => undefined], app);
    const { status, headers, body } = await opened.channel.handle(request(method, url, init));
    return { status, headers, text: (await bytesOf(body)).toString() };
  };

  test('parses JSON and CloudEvents, and answers with JSON', async () => {
    for (const type of ['application/json', 'application/cloudevents+json']) {
      const answer = await reply('POST', '/json', { headers: { 'content-type': type }, body: '{"a":1}' });
      expect([answer.status, answer.text]).toEqual([202, '{"got":{"a":1}}']);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    }
    expect((await reply('POST', '/json', { headers: { 'content-type': 'text/x' }, body: 'a' })).status).toBe(415);
  });

  test('tells what it tells of a local connection', async () => {
    const { text } = await reply('GET', '/about?a=b', { headers: { host: 'orders.local' } });
    expect(JSON.parse(text)).toEqual(['127.0.0.1', 'http', 'orders.local', '/about?a=b', { a: 'b' }]);
  });

  test('answers streams, errors, what is not found and what does not fit a schema, and runs its hooks', async () => {
    finished.length = 0;
    expect((await reply('GET', '/stream')).text).toBe('onetwo');
    expect((await reply('HEAD', '/about')).text).toBe('');
    expect((await reply('GET', '/fault')).status).toBe(500);
    expect((await reply('GET', '/missing')).status).toBe(404);
    expect((await reply('GET', '/schema')).status).toBe(400);
    await expect
      .poll(() => finished)
      .toEqual(['/stream 200', '/about 200', '/fault 500', '/missing 404', '/schema 400']);
  });

  test('fails with its own error when it cannot be made ready', async () => {
    const broken = fastify();
    broken.register((_instance, _options, done) => done(new Error('no database')));
    await using opened = await open(async (listener: typeof app) => [{ listener }, async () => undefined], broken);
    await expect(opened.channel.handle(request('GET', '/'))).rejects.toThrow('no database');
  });
});

/** What the package on-finished does, and morgan, Koa and send with it: the close of a response is not asked for. */
function onceFinished(res: ServerResponse, tell: () => void): void {
  const { socket } = res;
  const once = (): void => {
    res.removeListener('finish', once);
    socket?.removeListener('close', once);
    tell();
  };
  res.on('finish', once);
  socket?.on('close', once);
}
