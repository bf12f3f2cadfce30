import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SidecarError } from '../../src/errors.ts';
import { NO_CONTENT } from '../../src/http/message.ts';
import { Router, route } from '../../src/http/router.ts';

const router = new Router(
  [
    ['GET', '/a'],
    ['PUT', '/a'],
    ['GET', '/a/:one'],
    ['POST', '/a/:one/*rest'],
    ['GET', '/a/literal'],
    ['GET', '/a/literal/deep'],
    ['GET', '/p/:one/method/:two'],
    ['*', '/raw/**rest'],
    ['PUT', '/raw/**rest'],
  ].map(([method = '', pattern = '']) => route(`${method} ${pattern}`, [method], pattern, () => NO_CONTENT)),
);

function found(method: string, path: string): unknown {
  const match = router.match(method, path);
  return match === undefined ? undefined : [match.route.operation, match.params];
}

describe('Router', () => {
  test.each<[method: string, path: string, operation: string, params: object]>([
    ['GET', '/a', 'GET /a', {}],
    ['PUT', '/a', 'PUT /a', {}],
    ['HEAD', '/a', 'GET /a', {}],
    ['GET', '//a//', 'GET /a', {}],
    ['GET', '/a/x', 'GET /a/:one', { one: 'x' }],
    ['GET', '/a/x/', 'GET /a/:one', { one: 'x' }],
    ['GET', '/a/literal', 'GET /a/literal', {}],
    ['GET', '/a/literal2', 'GET /a/:one', { one: 'literal2' }],
    ['GET', '/%61', 'GET /a', {}],
    ['GET', '/a/l%69teral', 'GET /a/literal', {}],
    ['GET', '/%61/%6C%69teral/d%65ep/', 'GET /a/literal/deep', {}],
    ['POST', '/a/l%69teral/other', 'POST /a/:one/*rest', { one: 'literal', rest: 'other' }],
    ['GET', '/a/literal%2Fdeep', 'GET /a/:one', { one: 'literal/deep' }],
    ['GET', '/a/l%2569teral', 'GET /a/:one', { one: 'l%69teral' }],
    ['GET', '/p/x/m%65thod/y', 'GET /p/:one/method/:two', { one: 'x', two: 'y' }],
    ['GET', '/r%61w/%72aw', '* /raw/**rest', { rest: '%72aw' }],
    ['GET', '/a/literal/deep', 'GET /a/literal/deep', {}],
    ['POST', '/a/literal/other', 'POST /a/:one/*rest', { one: 'literal', rest: 'other' }],
    ['POST', '/a/x/y/z', 'POST /a/:one/*rest', { one: 'x', rest: 'y/z' }],
    ['POST', '/a/x//y//z//', 'POST /a/:one/*rest', { one: 'x', rest: 'y/z' }],
    ['POST', '/a/x/y%2F%2Fz', 'POST /a/:one/*rest', { one: 'x', rest: 'y//z' }],
    ['GET', '/a/%2F', 'GET /a/:one', { one: '/' }],
    ['GET', '/a/+', 'GET /a/:one', { one: '+' }],
    ['GET', '/a/%2525', 'GET /a/:one', { one: '%25' }],
    ['GET', '/a/__proto__', 'GET /a/:one', { one: '__proto__' }],
    ['GET', '/p/x/method/y', 'GET /p/:one/method/:two', { one: 'x', two: 'y' }],
    ['GET', '/raw', '* /raw/**rest', { rest: '' }],
    ['HEAD', '//raw//x//y%2F%zz/../+/', '* /raw/**rest', { rest: 'x//y%2F%zz/../+/' }],
    ['PROPFIND', '/raw/http://h:1/a//', '* /raw/**rest', { rest: 'http://h:1/a//' }],
    ['PUT', '/raw/x', 'PUT /raw/**rest', { rest: 'x' }],
  ])('%s %s leads to %s', (method, path, operation, params) => {
    expect(found(method, path)).toEqual([operation, params]);
  });

  test.each([
    '/',
    '',
    '/b',
    '/A',
    '/p',
    '/p/x',
    '/p/x/method',
    '/p/x/methods/y',
    '/__proto__',
    '/%41',
    '/%2561',
    '/a%2Fliteral',
  ])('no route has the path %j', (path) => {
    expect(router.match('GET', path)).toBeUndefined();
  });

  test.each([
    ['DELETE', '/a', 'GET, PUT, HEAD'],
    ['DELETE', '/a/literal', 'GET, HEAD'],
    ['GET', '/a/x/y', 'POST'],
    ['HEAD', '/a/x/y', 'POST'],
  ])('%s %s is not allowed: %s', (method, path, allow) => {
    expect(() => router.match(method, path)).toThrow(
      expect.objectContaining({ code: 'ERR_METHOD_NOT_ALLOWED', status: 405, headers: { allow } }),
    );
  });

  test.each(['%', '%g0', '%e2%82', '%C3%28', '%ED%A0%80'])('segment %s does not decode', (segment) => {
    for (const [method, path] of [
      ['GET', `/a/${segment}`],
      ['POST', `/a/x/y/${segment}`],
    ] as const)
      expect(() => router.match(method, path)).toThrow(
        expect.objectContaining({ code: 'ERR_BAD_REQUEST', status: 400 }),
      );
  });

  test('any name comes back as the segment that it was encoded as', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }), (name) => {
        fc.pre(name !== 'literal');
        const encoded = encodeURIComponent(name);
        expect(found('GET', `/a/${encoded}`)).toEqual(['GET /a/:one', { one: name }]);
        expect(found('POST', `/a/x/${encoded}`)).toEqual(['POST /a/:one/*rest', { one: 'x', rest: name }]);
      }),
    );
  });

  test('any rest of encoded segments is those segments, joined by slashes', () => {
    const names = fc.array(fc.string({ unit: 'grapheme', minLength: 1 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(names, fc.constantFrom('/', '//', '///'), (segments, slash) => {
        const path = `/a/x${slash}${segments.map(encodeURIComponent).join(slash)}${slash}`;
        expect(found('POST', path)).toEqual(['POST /a/:one/*rest', { one: 'x', rest: segments.join('/') }]);
      }),
    );
  });

  test('any path matches or throws a bad request, nothing else', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('/', '%', '2', 'F', 'a', '+', '.', '☃'), maxLength: 20 }),
        (path) => {
          try {
            router.match('GET', path);
          } catch (error) {
            expect(['ERR_BAD_REQUEST', 'ERR_METHOD_NOT_ALLOWED']).toContain((error as { code?: string }).code);
          }
        },
      ),
    );
  });

  test('paths with keys are not remembered', () => {
    const own = new Router([
      route('few', ['GET'], '/few/*rest', () => NO_CONTENT),
      route('keys', ['GET'], '/keys/*key', () => NO_CONTENT, { hasKeys: true }),
    ]);
    const params = (path: string): unknown => own.match('GET', path)?.params;
    expect(params('/few/a')).toBe(params('/few/a'));
    expect(params('/keys/a')).toEqual({ key: 'a' });
    expect(params('/keys/a')).not.toBe(params('/keys/a'));
  });

  test('a route for GET answers HEAD, unless it says that it does not', () => {
    const own = new Router([
      route('read', ['GET'], '/read', () => NO_CONTENT),
      route('call', ['GET', 'POST'], '/call', () => NO_CONTENT, { hasHead: false }),
    ]);
    expect(own.match('HEAD', '/read')?.route.operation).toBe('read');
    const allow = (path: string): unknown => {
      try {
        return own.match('HEAD', path) ?? own.match('PATCH', path);
      } catch (error) {
        return (error as SidecarError).headers;
      }
    };
    expect(allow('/call')).toEqual({ allow: 'GET, POST' });
  });

  test('parameters of two names in one place clash', () => {
    const make = (): Router =>
      new Router([route('a', ['GET'], '/:one', () => NO_CONTENT), route('b', ['GET'], '/:two/x', () => NO_CONTENT)]);
    expect(make).toThrow(/clash/);
  });
});
