import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import type { SidecarResponse } from '../../src/kit/index.ts';
import { startWorld, type World } from '../support/world.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const order = JSON.stringify({ id: 1, text: 'größer '.repeat(20) });
const ENCODED: readonly (readonly [name: string, encode: (bytes: string) => Uint8Array])[] = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['GZIP', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['identity', (text) => Buffer.from(text)],
  ['', (text) => Buffer.from(text)],
];

function post({ sidecar }: World, path: string, encoding: string, body: Uint8Array): Promise<SidecarResponse> {
  return sidecar.handle(request('POST', path, { headers: { ...JSON_TYPE, 'content-encoding': encoding }, body }));
}

function errorOf({ status, body }: SidecarResponse): [status: number, code: string, message: string] {
  const { errorCode, message } = JSON.parse(Buffer.from(body as Uint8Array).toString());
  return [status, errorCode, message];
}

/** What takes a body that is for the sidecar. */
const PATHS = [
  '/v1.0/publish/pubsub/orders',
  '/v1.0/publish/bulk/pubsub/orders',
  '/v1.0-alpha1/jobs/report',
  '/v1.0/workflows/sidecar/pay/start',
];

describe('a body with content-encoding', () => {
  test.each(ENCODED)('%j is decoded', async (name, encode) => {
    await using world = await startWorld();
    expect((await post(world, PATHS[0] ?? '', name, encode(order))).status).toBe(204);
    const entries = JSON.stringify([{ entryId: '1', event: JSON.parse(order) }]);
    expect((await post(world, PATHS[1] ?? '', name, encode(entries))).status).toBe(204);
    await world.pass(0);
    expect(world.deliveries.map(({ data }) => data)).toEqual([JSON.parse(order), JSON.parse(order)]);
    const job = JSON.stringify({ dueTime: '1h', data: JSON.parse(order) });
    expect((await post(world, PATHS[2] ?? '', name, encode(job))).status).toBe(204);
    expect(await world.sidecar.jobs.get('report')).toMatchObject({ data: JSON.parse(order) });
  });

  test.each(PATHS.flatMap((path) => ['zstd', 'gzip, br', 'nope'].map((name) => [path, name] as const)))(
    '%s: the unknown encoding %j is 415, by name',
    async (path, name) => {
      await using world = await startWorld();
      const [status, code, message] = errorOf(await post(world, path, name, Buffer.from(order)));
      expect([status, code]).toEqual([415, 'ERR_CONTENT_ENCODING']);
      expect(message).toBe(`content-encoding is ${JSON.stringify(name)}: expected one of gzip, deflate, br, identity`);
      expect(world.deliveries).toEqual([]);
    },
  );

  test.each(['gzip', 'deflate', 'br'])('that is not %s is 400', async (name) => {
    await using world = await startWorld();
    const answer = await post(world, PATHS[0] ?? '', name, Buffer.from(order));
    expect(errorOf(answer)).toEqual([400, 'ERR_BAD_REQUEST', `the body is not ${name}, its content-encoding`]);
    const cut = gzipSync(order).subarray(0, 40);
    expect((await post(world, PATHS[0] ?? '', 'gzip', cut)).status).toBe(400);
  });

  test('that becomes too large is 413, however small it is', async () => {
    await using world = await startWorld({ bodyLimitBytes: 100_000 });
    const bomb = gzipSync(`"${'0'.repeat(50_000_000)}"`);
    expect(bomb.length).toBeLessThan(100_000);
    expect(errorOf(await post(world, PATHS[0] ?? '', 'gzip', bomb)).slice(0, 2)).toEqual([413, 'ERR_BODY_TOO_LARGE']);
    const fits = gzipSync(`"${'0'.repeat(99_998)}"`);
    expect((await post(world, PATHS[0] ?? '', 'gzip', fits)).status).toBe(204);
  });

  test('is decoded with a body limit that no buffer could reach', async () => {
    await using world = await startWorld({ bodyLimitBytes: Number.MAX_SAFE_INTEGER });
    expect((await post(world, PATHS[0] ?? '', 'gzip', gzipSync(order))).status).toBe(204);
  });
});
