import { describe, expect, test } from 'vitest';
import { addressOfHeaders, addressOfPath, type CallAddress } from '../../../src/blocks/invocation/address.ts';
import { checkPath, cleanedPath } from '../../../src/blocks/invocation/method-path.ts';
import { isSidecarError } from '../../../src/errors.ts';
import { NO_CONTENT, request } from '../../../src/http/message.ts';
import { Router, route } from '../../../src/http/router.ts';

/** What a refusal is answered with. */
type Refusal = 400 | 404;

const router = new Router([route('invoke', ['*'], '/v1.0/invoke/**call', () => NO_CONTENT)]);

function addressOf(path: string): readonly [target: string, path: string] | Refusal {
  return answerOf(() => {
    const match = router.match('GET', path);
    if (match === undefined) return undefined;
    const address = addressOfPath(match.params['call'] ?? '');
    checkPath(address.path);
    return address;
  });
}

function addressByHeader(path: string): readonly [target: string, path: string] | Refusal {
  return answerOf(() => {
    const address = addressOfHeaders(request('GET', path, { headers: { 'sidecar-app-id': 'hdr' } }), 'sidecar-app-id');
    if (address !== undefined) checkPath(address.path);
    return address;
  });
}

function answerOf(find: () => CallAddress | undefined): readonly [target: string, path: string] | Refusal {
  try {
    const address = find();
    return address === undefined ? 404 : [address.target, address.path];
  } catch (error) {
    if (isSidecarError(error)) return error.status as Refusal;
    throw error;
  }
}

/** The executed vectors of the reference, with what Dapr makes of them: target and method, or a status. */
describe('vectors of the reference: target and method', () => {
  test.each<[path: string, dapr: readonly [string, string] | Refusal, ours: readonly [string, string] | Refusal]>([
    ['/v1.0/invoke/app/method/foo/bar', ['app', 'foo/bar'], ['app', '/foo/bar']],
    ['/v1.0/invoke/app/method/method/foo', ['app', 'method/foo'], ['app', '/method/foo']],
    ['/v1.0/invoke/app.ns/method/foo', ['app.ns', 'foo'], ['app.ns', '/foo']],
    ['/v1.0/invoke/http://h:8080/method/foo', ['http://h:8080', 'foo'], ['http://h:8080', '/foo']],
    ['/v1.0/invoke/http%3A%2F%2Fh%3A8080/method/foo', ['http://h:8080', 'foo'], ['http://h:8080', '/foo']],
    ['/v1.0/invoke/https://h/base/method/foo', ['https://h/base', 'foo'], ['https://h/base', '/foo']],
    ['/v1.0/invoke/http:/h:8080/method/foo', ['http:/h:8080', 'foo'], ['http:/h:8080', '/foo']],
    ['//v1.0//invoke//app/method/foo', ['app', 'foo'], ['app', '/foo']],
    ['/v1.0/invoke/app/method//foo', ['app', '/foo'], ['app', '//foo']],
    // Deliberate differences: the path stays as it came.
    ['/v1.0/invoke/app/method/foo/', ['app', 'foo'], ['app', '/foo/']],
    ['/v1.0/invoke/app/method/a//b', ['app', 'a/b'], ['app', '/a//b']],
    // What leads upwards is refused.
    ['/v1.0/invoke/app/method/a/../b', ['app', 'b'], 400],
    ['/v1.0/invoke/app/method/../../b', ['app', '../../b'], 400],
    // No method name is 400, as the API document says.
    ['/v1.0/invoke/app/method/', ['app', ''], 400],
    ['/v1.0/invoke/app/method', 404, 400],
    ['/v1.0/invoke/app', 404, 400],
    ['/v1.0/invoke//method/foo', 404, 400],
    // The word in the path is decoded like any other segment.
    ['/v1.0/invoke/app/%6dethod/foo', ['app', 'foo'], ['app', '/foo']],
    ['/v1.0/inv%6Fke/a%20b/m%65tho%64/f%6Fo', ['a b', 'foo'], ['a b', '/f%6Fo']],
    ['/v1.0/invoke/app/%6Dethod/a/method/b', ['app', 'a/method/b'], ['app', '/a/method/b']],
    ['/v1.0/invoke/app/method/%6dethod/b', ['app', 'method/b'], ['app', '/%6dethod/b']],
    ['/v1.0/invoke/a%20b/method/%6dethod/b', ['a b', 'method/b'], ['a b', '/%6dethod/b']],
    ['/v1.0/invoke/app/%6dethod/', ['app', ''], 400],
    ['/v1.0/invoke/app/%6dethod', 404, 400],
    ['/v1.0/invoke/app%2Fmethod/foo', 404, 400],
    ['/v1.0/invoke/app/%256dethod/foo', 404, 400],
    ['/v1.0/invoke/app/%4dethod/foo', 404, 400],
    // A plus is a plus.
    ['/v1.0/invoke/a+b/method/x', ['a b', 'x'], ['a+b', '/x']],
    ['/v1.0/metadata', 404, 404],
  ])('%s', (path, _dapr, ours) => {
    expect(addressOf(path)).toEqual(ours);
  });

  test.each<[path: string, dapr: string, ours: readonly [string, string] | Refusal]>([
    ['///foo//bar', 'foo/bar', ['hdr', '///foo//bar']],
    ['/', '', ['hdr', '/']],
    ['/a/../b', 'b', 400],
    ['*', '', 404],
  ])('by header: %s', (path, _dapr, ours) => {
    expect(addressByHeader(path)).toEqual(ours);
  });
});

describe('vectors of the reference: what a method may be', () => {
  test.each<[path: string, dapr: string | 500, ours: string | 400, cleaned?: string]>([
    ['/a/', 'a', '/a/', '/a'],
    ['/a//b', 'a/b', '/a//b', '/a/b'],
    ['/a/./b', 'a/b', '/a/./b', '/a/b'],
    ['/a%20b', 'a b', '/a%20b', '/a b'],
    ['/gr%C3%BC%C3%9F', 'grüß', '/gr%C3%BC%C3%9F', '/grüß'],
    ['/a%5Cb', 'a\\b', '/a%5Cb', '/a\\b'],
    ['/%22a%22*', '"a"*', '/%22a%22*', '/"a"*'],
    ['/a%25b', 'a%b', '/a%25b', '/a%b'],
    ['/admin%2Fx', 'admin/x', '/admin%2Fx', '/admin/x'],
    ['/a/../b', 'b', 400],
    ['/../../a', 'a', 400],
    ['/..', '', 400],
    ['/admin%2F..%2Fpublic', 'public', 400],
    ['/a%23b', 500, '/a%23b', '/a#b'],
    ['/a%3Fb', 500, '/a%3Fb', '/a?b'],
    ['/a%00b', 500, 400],
    ['/a%0Db', 500, 400],
    ['/a%09b', 500, 400],
    ['/a%b', 500, 400],
  ])('%s', (path, _dapr, ours, cleaned) => {
    let got: string | number = path;
    try {
      checkPath(path);
      expect(cleanedPath(path)).toBe(cleaned);
    } catch (error) {
      if (!isSidecarError(error)) throw error;
      got = error.status;
    }
    expect(got).toBe(ours);
  });
});
