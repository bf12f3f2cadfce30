/** Heads of requests and responses, and their limit. */
import { describe, expect, test } from 'vitest';
import { listen } from '../support/http.ts';
import { startInvocation } from '../support/invocation-world.ts';

const KIB = 1024;

/** Which way a response comes: each is read by a client of its own. */
const WAYS = ['the own application', 'another application', 'an HTTP endpoint', 'a URL'] as const;

async function answerOf(way: (typeof WAYS)[number], headBytes: number, headLimitBytes?: number) {
  const answer = { 'x-long': 'x'.repeat(headBytes) };
  await using target = await listen(
    (req, res) => void res.writeHead(/subscribe/.test(req.url ?? '') ? 404 : 200, answer).end('x'),
  );
  const { port, url } = target;
  await using world = await startInvocation({
    via: 'nowhere',
    ...(way === 'the own application' ? { app: { port } } : {}),
    nameResolution: { static: { other: url } },
    httpEndpoints: [{ name: 'endpoint', baseUrl: url }],
    ...(headLimitBytes === undefined ? {} : { headLimitBytes }),
  });
  const to = { 'the own application': 'shop', 'another application': 'other', 'an HTTP endpoint': 'endpoint' };
  const name = way === 'a URL' ? encodeURIComponent(url) : to[way];
  // Of a stream, whose request goes another way than that of bytes.
  const body = Buffer.alloc(100 * KIB);
  const path = `/v1.0/invoke/${name}/method/x`;
  return [await world.send('GET', path), await world.send('POST', path, { body })];
}

describe.each(WAYS)('a response of %s', (way) => {
  test('with a head of 15 KiB is passed on', async () => {
    for (const { status, headers } of await answerOf(way, 15 * KIB))
      expect([status, headers['x-long']?.length]).toEqual([200, 15 * KIB]);
  });

  test('with a larger one is 500 ERR_DIRECT_INVOKE, which says what is read and what sets it', async () => {
    for (const answer of await answerOf(way, 17 * KIB)) {
      expect(answer.error).toEqual([500, 'ERR_DIRECT_INVOKE']);
      expect(answer.json['message']).toMatch(
        /the head of the response is larger than the 16384 bytes that are read: headLimitBytes \(--read-buffer-size/,
      );
    }
  });

  test('may have as much as headLimitBytes says', async () => {
    for (const { status, headers } of await answerOf(way, 60 * KIB, 64 * KIB))
      expect([status, headers['x-long']?.length]).toEqual([200, 60 * KIB]);
    for (const answer of await answerOf(way, 60 * KIB, 32 * KIB))
      expect(answer.json['message']).toContain('32768 bytes');
  });
});
