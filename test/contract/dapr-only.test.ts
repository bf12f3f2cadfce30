import { describe, expect, test } from 'vitest';
import { startWorld } from '../support/world.ts';

describe("what only Dapr's clients need", () => {
  test.each(['shutdown', 'crypto/a/encrypt'])('%s is no route of the default wire', async (path) => {
    await using world = await startWorld();
    const answer = await world.send('POST', `/v1.0/${path}`);
    expect(answer.error).toEqual([404, 'ERR_NOT_FOUND']);
    expect(answer.json['message']).toBe(`no route for POST /v1.0/${path}`);
  });

  test('shutdown answers 204 without a body and stops the sidecar', async () => {
    await using world = await startWorld({ wire: 'dapr' });
    const told: string[] = [];
    world.sidecar.events.on('shutdownRequested', () => told.push('requested'));
    const answer = await world.send('POST', '/v1.0/shutdown');
    expect([answer.status, answer.text, told]).toEqual([204, '', ['requested']]);
    expect((await world.send('POST', '/v1.0/shutdown')).error).toEqual([503, 'ERR_SHUTTING_DOWN']);
  });

  test('shutdown takes POST only', async () => {
    await using world = await startWorld({ wire: 'dapr' });
    expect((await world.send('GET', '/v1.0/shutdown')).error).toEqual([405, 'ERR_METHOD_NOT_ALLOWED']);
  });

  test('shutdown can be denied', async () => {
    await using world = await startWorld({ wire: 'dapr', api: { denied: [{ name: 'shutdown' }] } });
    expect((await world.send('POST', '/v1.0/shutdown')).error).toEqual([404, 'ERR_NOT_FOUND']);
    expect((await world.publish('still here')).status).toBe(204);
  });

  test.each([
    ['sidecar', [{ entryId: 'big', error: expect.any(String) }]],
    ['dapr', [{ entryId: 'big', entryID: 'big', error: expect.any(String) }]],
  ] as const)('with wire %s an entry that failed is named by its keys', async (wire, expected) => {
    await using world = await startWorld({ wire });
    const answer = await world.publishBulk(
      [{ entryId: 'big', event: 'x'.repeat(400) }],
      'metadata.maxBulkPubBytes=300',
    );
    expect(answer.json['failedEntries']).toEqual(expected);
  });
});

describe('a block of Dapr that there is not', () => {
  test.each([
    [
      'cryptography',
      'cryptography',
      ['POST /v1.0-alpha1/crypto/a/encrypt', 'POST /v1.0-alpha1/subtlecrypto/a/wrapkey'],
    ],
    ['conversation', 'conversations', ['POST /v1.0-alpha2/conversation/a/converse']],
  ])('%s: 404 that names it, and one warning at its first use', async (_, what, requests) => {
    await using world = await startWorld({ wire: 'dapr' });
    for (const request of [...requests, ...requests]) {
      const [method = '', path = ''] = request.split(' ');
      const answer = await world.send(method, path);
      expect(answer.error).toEqual([404, 'ERR_NOT_FOUND']);
      expect(answer.json['message']).toContain(`insidecar does not serve ${what}`);
    }
    const [method, path] = requests[0]?.split(' ') ?? [];
    expect(world.logger.at('warn')).toEqual([
      expect.objectContaining({
        details: { method, path },
        message: `the application gets 404 for a request: insidecar does not serve ${what}`,
      }),
    ]);
  });

  test('each is warned of by itself', async () => {
    await using world = await startWorld({ wire: 'dapr' });
    await world.send('POST', '/v1.0-alpha2/conversation/a/converse');
    await world.send('POST', '/v1.0-alpha1/crypto/a/encrypt');
    expect(world.logger.at('warn')).toHaveLength(2);
  });
});
