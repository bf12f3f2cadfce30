import { describe, expect, test } from 'vitest';
import { SidecarError } from '../../src/errors.ts';
import { Answers } from '../../src/http/answers.ts';
import { guard } from '../../src/http/guard.ts';
import {
  type Handler,
  jsonResponse,
  NO_CONTENT,
  request,
  type SidecarRequest,
  type SidecarResponse,
} from '../../src/http/message.ts';
import { Router, route } from '../../src/http/router.ts';
import { RecordingLogger } from '../support/logger.ts';

interface Guarded {
  readonly handle: Handler;
  readonly logger: RecordingLogger;
}

function guarded(answer: () => SidecarResponse | Promise<SidecarResponse>, token?: string): Guarded {
  const logger = new RecordingLogger();
  const handle = guard({
    router: new Router([
      route('closed', ['GET'], '/closed', answer),
      route('open', ['GET', 'POST', 'DELETE'], '/open', answer, { open: true }),
    ]),
    logger,
    errors: { domain: 'insidecar', reasonPrefix: 'SIDECAR_', failedEntryKeys: ['entryId'] },
    admit: () => undefined,
    answers: new Answers(),
    ...(token === undefined ? {} : { token: { header: 'sidecar-api-token', value: token } }),
  });
  return { handle, logger };
}

const textOf = ({ body }: SidecarResponse): string => Buffer.from(body as Uint8Array).toString();

describe('guard', () => {
  test.each<[what: string, thrown: unknown]>([
    ['an Error', new Error('secret at /etc/passwd')],
    ['a string', 'secret'],
    ['undefined', undefined],
    ['an error of Node', Object.assign(new Error('secret'), { code: 'ENOENT', status: 200 })],
  ])('anything unforeseen is 500 ERR_INTERNAL, with the cause in the log only: %s', async (_, thrown) => {
    const { handle, logger } = guarded(() => {
      throw thrown;
    });
    const response = await handle(request('GET', '/closed'));
    expect(response.status).toBe(500);
    expect(JSON.parse(textOf(response))).toMatchObject({ errorCode: 'ERR_INTERNAL' });
    expect(textOf(response)).not.toMatch(/secret|etc|ENOENT|at /);
    expect(logger.at('error')).toMatchObject([{ details: { error: thrown, path: '/closed' } }]);
  });

  test.each([
    ['no route', '/nowhere', 404],
    ['success', '/closed', 200],
    ['a failure', '/open', 500],
  ])('HEAD is answered as GET, with its length and without its bytes: %s', async (_, path, status) => {
    const { handle } = guarded(() => {
      if (status === 500) throw new Error('no');
      return jsonResponse(200, { some: 'body' });
    });
    const [head, get] = [await handle(request('HEAD', path)), await handle(request('GET', path))];
    expect([head.status, get.status, textOf(head)]).toEqual([status, status, '']);
    const { 'content-length': length, ...headers } = head.headers;
    expect(headers).toEqual(get.headers);
    expect(length).toBe(status === 404 ? String(textOf(get).length + 1) : String(textOf(get).length));
  });

  test('a rejection counts as a throw', async () => {
    const { handle } = guarded(() => Promise.reject(new Error('secret')));
    expect((await handle(request('GET', '/closed'))).status).toBe(500);
  });

  test('a SidecarError is answered with its status, code, message, headers and details; its cause stays here', async () => {
    const { handle } = guarded(() => {
      throw new SidecarError('ERR_BAD_REQUEST', 'no', {
        cause: new Error('secret'),
        headers: { 'x-more': '1' },
        details: { reason: 'WHY', metadata: { a: 'b' } },
      });
    });
    const response = await handle(request('GET', '/closed'));
    expect([response.status, response.headers]).toEqual([400, { 'x-more': '1', 'content-type': 'application/json' }]);
    expect(JSON.parse(textOf(response))).toEqual({
      errorCode: 'ERR_BAD_REQUEST',
      message: 'no',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          domain: 'insidecar',
          metadata: { a: 'b' },
          reason: 'SIDECAR_WHY',
        },
      ],
    });
  });

  test('a caller that went away is no error in the log', async () => {
    const { handle, logger } = guarded(() => Promise.reject(new Error('the caller went away')));
    await handle(request('GET', '/closed', { signal: AbortSignal.abort() }));
    expect(logger.lines.map(({ level }) => level)).toEqual(['debug']);
  });

  test.each(['x', 'right-token ', 'right-toke', 'right-tokenn', '', 'Right-token'])(
    'token %j is not right',
    async (token) => {
      const { handle } = guarded(() => NO_CONTENT, 'right-token');
      const headers = { 'sidecar-api-token': token };
      expect((await handle(request('GET', '/closed', { headers }))).status).toBe(401);
      expect((await handle(request('GET', '/open', { headers }))).status).toBe(204);
      expect((await handle(request('GET', '/open/else', { headers }))).status).toBe(401);
    },
  );

  test('an open route is exempt from the token for GET and HEAD only', async () => {
    const { handle } = guarded(() => NO_CONTENT, 'right-token');
    const statuses = ['GET', 'HEAD', 'POST', 'DELETE'].map(
      async (method) => (await handle(request(method, '/open'))).status,
    );
    expect(await Promise.all(statuses)).toEqual([204, 204, 401, 401]);
  });

  test('the right token is taken, a token of any characters too', async () => {
    for (const token of ['right-token', 'ü ☃', 'x'.repeat(5_000)]) {
      const { handle } = guarded(() => NO_CONTENT, token);
      expect((await handle(request('GET', '/closed', { headers: { 'sidecar-api-token': token } }))).status).toBe(204);
    }
  });

  test('HEAD answers with the length and without the bytes', async () => {
    const { handle } = guarded(() => jsonResponse(200, { a: 1 }));
    const response = await handle(request('HEAD', '/closed'));
    expect([response.status, textOf(response), response.headers['content-length']]).toEqual([200, '', '7']);
  });

  test('what no route has is marked, so that an adapter can pass it on', async () => {
    const { handle } = guarded(() => NO_CONTENT);
    expect((await handle(request('GET', '/else'))).unrouted).toBe(true);
    expect((await handle(request('POST', '/closed'))).unrouted).toBeUndefined();
  });

  test('a path that no route has may be answered by a fallback, with the token', async () => {
    const answered = route('found', ['*'], '/**path', () => jsonResponse(200, 'found'));
    const handle = guard({
      router: new Router([route('closed', ['GET'], '/closed', () => NO_CONTENT)]),
      logger: new RecordingLogger(),
      errors: { domain: 'insidecar', reasonPrefix: 'SIDECAR_', failedEntryKeys: [] },
      admit: () => undefined,
      answers: new Answers(),
      fallback: ({ headers }) => (headers['x-found'] === undefined ? undefined : { route: answered, params: {} }),
      token: { header: 'sidecar-api-token', value: 'right' },
    });
    const statusOf = async (path: string, headers: Record<string, string>): Promise<number> =>
      (await handle(request('GET', path, { headers }))).status;
    const token = { 'sidecar-api-token': 'right' };
    expect(await statusOf('/else', { ...token, 'x-found': '1' })).toBe(200);
    expect(await statusOf('/closed', { ...token, 'x-found': '1' })).toBe(204);
    expect(await statusOf('/else', token)).toBe(404);
    expect(await statusOf('/else', { 'x-found': '1' })).toBe(401);
  });

  test('a route that finds out by itself who asks needs no token', async () => {
    const identifies = ({ headers }: SidecarRequest): boolean => headers['x-proof'] !== undefined;
    const handle = guard({
      router: new Router([route('own', ['GET'], '/own', () => NO_CONTENT, { identifies })]),
      logger: new RecordingLogger(),
      errors: { domain: 'insidecar', reasonPrefix: 'SIDECAR_', failedEntryKeys: [] },
      admit: () => undefined,
      answers: new Answers(),
      token: { header: 'sidecar-api-token', value: 'right' },
    });
    expect((await handle(request('GET', '/own', { headers: { 'x-proof': '1' } }))).status).toBe(204);
    expect((await handle(request('GET', '/own'))).status).toBe(401);
  });

  test('what lies outside the mount point of an adapter is 404', async () => {
    const { handle } = guarded(() => NO_CONTENT);
    const response = await handle(request('GET', ''));
    expect([response.status, response.unrouted]).toEqual([404, true]);
  });

  test.each(['*', 'http://host/closed'])('the request target %s is not a path: 400', async (target) => {
    const { handle } = guarded(() => NO_CONTENT);
    expect((await handle(request('OPTIONS', target))).status).toBe(400);
  });
});
