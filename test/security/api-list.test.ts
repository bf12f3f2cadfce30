import { describe, expect, test } from 'vitest';
import type { ApiOptions } from '../../src/security/api-list.ts';
import { createWorld, startWorld } from '../support/world.ts';

const REQUESTS = {
  publish: ['POST', '/v1.0/publish/pubsub/orders'],
  bulk: ['POST', '/v1.0/publish/bulk/pubsub/orders'],
  jobs: ['GET', '/v1.0-alpha1/jobs/none'],
  metadata: ['GET', '/v1.0/metadata'],
  invoke: ['GET', '/v1.0/invoke/shop/method/x'],
  health: ['GET', '/v1.0/healthz'],
} as const;

/** Which of them there are; the others must be as if they never were. */
async function present(api: ApiOptions): Promise<string[]> {
  await using world = await startWorld({ api });
  const found: string[] = [];
  for (const [name, [method, path]] of Object.entries(REQUESTS)) {
    const answer = await world.send(method, path);
    if (answer.status !== 404) found.push(name);
    else expect(answer.json).toMatchObject({ errorCode: 'ERR_NOT_FOUND', message: `no route for ${method} ${path}` });
  }
  return found;
}

const ALL = Object.keys(REQUESTS);
const without = (...names: string[]): string[] => ALL.filter((name) => !names.includes(name));

describe('the list of what there is', () => {
  test.each<[what: string, api: ApiOptions, expected: string[]]>([
    ['nothing listed: everything', {}, ALL],
    ['nothing denied: everything', { denied: [] }, ALL],
    ['denied', { denied: [{ name: 'publish', version: 'v1' }] }, without('publish', 'bulk')],
    ['denied in every version', { denied: [{ name: 'jobs' }] }, without('jobs')],
    ['denied in another version', { denied: [{ name: 'jobs', version: 'v1' }] }, ALL],
    ['a version as Dapr writes it', { denied: [{ name: 'jobs', version: 'v1alpha1' }] }, without('jobs')],
    ['a version as paths have it', { denied: [{ name: 'jobs', version: 'v1.0-alpha1' }] }, without('jobs')],
    [
      'only what is allowed, and health',
      { allowed: [{ name: 'publish', version: 'v1.0' }] },
      ['publish', 'bulk', 'health'],
    ],
    [
      'denied goes before allowed',
      { allowed: [{ name: 'publish' }, { name: 'metadata' }], denied: [{ name: 'publish' }] },
      ['metadata', 'health'],
    ],
    ['health cannot be denied', { denied: [{ name: 'healthz' }] }, ALL],
    ['rules for gRPC have no effect', { allowed: [{ name: 'publish', protocol: 'grpc' }] }, ALL],
    ['parts that only others have', { denied: [{ name: 'state', version: 'v1' }] }, ALL],
    ['invocation, and with it its header form', { denied: [{ name: 'invoke' }] }, without('invoke')],
  ])('%s', async (_, api, expected) => {
    expect(await present(api)).toEqual(expected);
  });

  test('a denied invocation has no other door', async () => {
    await using world = await startWorld({ api: { denied: [{ name: 'invoke' }] } });
    const basic = Buffer.from('sidecar-app-id:shop').toString('base64');
    for (const headers of [{ 'sidecar-app-id': 'shop' }, { authorization: `Basic ${basic}` }]) {
      const { status } = await world.send('GET', '/anything', { headers });
      expect(status).toBe(404);
    }
    expect(world.deliveries).toEqual([]);
  });

  test('percent-escapes are no way round it', async () => {
    const denied = [{ name: 'publish' }, { name: 'invoke' }] as const;
    await using world = await startWorld({ api: { denied } });
    for (const path of [
      '/v1.0/%70ublish/pubsub/orders',
      '/v1.0/publish/%62ulk/pubsub/orders',
      '/v1%2E0/inv%6fke/shop/%6dethod/x',
    ])
      expect((await world.send('POST', path, { body: [] })).error, path).toEqual([404, 'ERR_NOT_FOUND']);
    expect(world.deliveries).toEqual([]);
  });

  test('the typed classes are not concerned', async () => {
    await using world = await startWorld({ api: { denied: [{ name: 'publish' }] } });
    await world.sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
    await world.clock.settled();
    expect(world.deliveries).toHaveLength(1);
  });

  test.each<[api: unknown, message: string]>([
    [
      { denied: [{ name: 'pubilsh' }] },
      'options.api.denied.0.name "pubilsh" is not known: expected one of publish, jobs',
    ],
    [{ allowed: [{ name: 'constructor' }] }, 'options.api.allowed.0.name "constructor" is not known'],
    [{ denied: [{ name: 'publish', version: '1' }] }, 'options.api.denied.0.version must match pattern'],
    [{ denied: [{ version: 'v1' }] }, 'options.api.denied.0.name is missing'],
    [
      { denied: [{ name: 'publish', protocol: 'ws' }] },
      'options.api.denied.0.protocol must be "http" or "grpc": actual is "ws"',
    ],
    [{ deny: [] }, 'unknown field "deny"'],
    [{ allowed: [] }, 'options.api.allowed must be a list of at least one rule: leave it out to enable everything'],
  ])('%j is refused', async (api, message) => {
    await expect(createWorld({ api: api as ApiOptions })).rejects.toThrow(message);
  });
});
