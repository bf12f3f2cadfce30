import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { memoryPubSub } from '../../src/index.ts';
import { temporaryDirectory } from '../support/embedded-store.ts';
import { freePort, send } from '../support/http.ts';
import { startWorld, type World } from '../support/world.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

async function read(world: World): Promise<Record<string, unknown>> {
  const answer = await world.send('GET', '/v1.0/metadata');
  expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json']);
  return answer.json;
}

describe('metadata: get', () => {
  test('has every field of the document, lists and objects empty when there is nothing in them', async () => {
    await using world = await startWorld({ components: [], discovery: [] });
    expect(await read(world)).toEqual({
      id: 'shop',
      runtimeVersion: version,
      enabledFeatures: [],
      actors: [],
      extended: { sidecarRuntimeVersion: version },
      components: [],
      httpEndpoints: [],
      subscriptions: [],
      appConnectionProperties: { protocol: 'http', channelAddress: '127.0.0.1', maxConcurrency: -1 },
      scheduler: { connected_addresses: expect.any(Array) },
      workflows: { connectedWorkers: 0 },
    });
  });

  test('features of the options are listed', async () => {
    await using world = await startWorld({ components: [], discovery: [], dapr: { features: ['One', 'Two'] } });
    expect((await read(world))['enabledFeatures']).toEqual(['One', 'Two']);
    expect(world.sidecar.settings()['dapr']).toMatchObject({ features: ['One', 'Two'] });
  });

  test('state that is not in memory has its type and durability', async () => {
    const state = embeddedState({ path: temporaryDirectory() });
    await using world = await startWorld({ components: [], discovery: [], state });
    expect((await read(world))['state']).toEqual({ type: 'embedded', durability: 'synced' });
  });

  test('components have name, type, version and capabilities', async () => {
    await using world = await startWorld({ components: [memoryPubSub('one'), memoryPubSub('two')], discovery: [] });
    const component = { type: 'pubsub.in-memory', version: 'v1', capabilities: [] };
    expect((await read(world))['components']).toEqual([
      { name: 'one', ...component },
      { name: 'two', ...component },
    ]);
  });

  test('a component for other applications is not listed', async () => {
    const components = [
      memoryPubSub('ours', { scopes: ['shop', 'other'] }),
      memoryPubSub('theirs', { scopes: ['other'] }),
    ];
    await using world = await startWorld({ components, discovery: [] });
    expect((await read(world))['components']).toMatchObject([{ name: 'ours' }]);
  });

  test('subscriptions have pubsubname, topic, metadata, rules, deadLetterTopic and type', async () => {
    await using world = await startWorld({
      subscriptions: [{ pubsubName: 'pubsub', topic: 'd', route: 'declared', metadata: { key: 'value' } }],
      discovery: [
        {
          pubsubname: 'pubsub',
          topic: 'p',
          routes: { rules: [{ match: 'event.type == "x"', path: '/x' }], default: '/rest' },
          deadLetterTopic: 'dead',
        },
      ],
    });
    await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 's', () => undefined);
    expect((await read(world))['subscriptions']).toEqual([
      {
        pubsubname: 'pubsub',
        topic: 'd',
        metadata: { key: 'value' },
        rules: [{ match: '', path: '/declared' }],
        deadLetterTopic: '',
        type: 'DECLARATIVE',
      },
      {
        pubsubname: 'pubsub',
        topic: 'p',
        metadata: {},
        rules: [
          { match: 'event.type == "x"', path: '/x' },
          { match: '', path: '/rest' },
        ],
        deadLetterTopic: 'dead',
        type: 'PROGRAMMATIC',
      },
      {
        pubsubname: 'pubsub',
        topic: 's',
        metadata: {},
        rules: [{ match: '', path: '/' }],
        deadLetterTopic: '',
        type: 'STREAMING',
      },
    ]);
  });

  test('a subscription in code that was closed is gone', async () => {
    await using world = await startWorld({ discovery: [] });
    const subscription = await world.sidecar.pubsub.subscribe('pubsub', 's', () => undefined);
    await subscription.close();
    expect((await read(world))['subscriptions']).toEqual([]);
  });

  test('appConnectionProperties names the application’s port and limit', async () => {
    await using world = await startWorld({ via: 'port' });
    const port = (await read(world))['appConnectionProperties'] as { port: number };
    expect(port).toEqual({
      port: expect.any(Number),
      protocol: 'http',
      channelAddress: '127.0.0.1',
      maxConcurrency: -1,
    });
    expect((await send(`http://127.0.0.1:${port.port}`, 'GET', '/sidecar/subscribe')).status).toBe(200);
    await using limited = await startWorld({ app: { port: await freePort(), host: 'localhost', maxConcurrency: 3 } });
    expect((await read(limited))['appConnectionProperties']).toMatchObject({
      channelAddress: 'localhost',
      maxConcurrency: 3,
    });
  });

  test('with wire dapr the version stands under daprRuntimeVersion', async () => {
    await using world = await startWorld({ wire: 'dapr' });
    expect((await read(world))['extended']).toEqual({ daprRuntimeVersion: version });
  });

  test('HEAD answers as GET, without the body', async () => {
    await using world = await startWorld();
    const [head, get] = [await world.send('HEAD', '/v1.0/metadata'), await world.send('GET', '/v1.0/metadata')];
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', String(get.bytes.length)]);
  });
});

describe('metadata: add a custom attribute', () => {
  const put = (world: World, name: string, body: unknown): ReturnType<World['send']> =>
    world.send('PUT', `/v1.0/metadata/${name}`, { headers: { 'content-type': 'text/plain' }, body });

  test('answers 204 without a body and the attribute stands under extended', async () => {
    await using world = await startWorld();
    const answer = await put(world, 'color', 'blue');
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await read(world))['extended']).toMatchObject({ color: 'blue' });
  });

  test.each<[path: string, name: string, value: string]>([
    ['a', 'a', ''],
    ['a', 'a', '{"json":1}'],
    ['a', 'a', 'line\nbreak ☃ 😀 "quoted"'],
    ['__proto__', '__proto__', 'x'],
    ['constructor', 'constructor', 'x'],
    ['a%2Fb', 'a/b', 'x'],
    ['caf%C3%A9+1', 'café+1', 'x'],
    ['n'.repeat(300), 'n'.repeat(300), 'x'],
  ])('%s is the attribute %j with the raw value %j', async (path, name, value) => {
    await using world = await startWorld();
    expect((await put(world, path, value)).status).toBe(204);
    const { extended } = (await read(world)) as { extended: object };
    expect(Object.entries(extended)).toContainEqual([name, value]);
  });

  test('a second value replaces the first', async () => {
    await using world = await startWorld();
    await put(world, 'a', '1');
    await put(world, 'a', '2');
    expect((await read(world))['extended']).toMatchObject({ a: '2' });
  });

  test('names are case-sensitive', async () => {
    await using world = await startWorld();
    await put(world, 'a', '1');
    await put(world, 'A', '2');
    expect((await read(world))['extended']).toMatchObject({ a: '1', A: '2' });
  });

  test('the runtime’s version cannot be replaced', async () => {
    await using world = await startWorld();
    await put(world, 'sidecarRuntimeVersion', 'fake');
    expect((await read(world))['extended']).toEqual({ sidecarRuntimeVersion: version });
  });

  test('attributes live in memory only', async () => {
    const components = [memoryPubSub('pubsub')];
    {
      await using world = await startWorld({ components });
      await put(world, 'a', '1');
    }
    await using again = await startWorld({ components });
    expect((await read(again))['extended']).not.toHaveProperty('a');
  });

  test.each(['/v1.0/metadata', '/v1.0/metadata/', '/v1.0/metadata//'])('an empty name is 404: PUT %s', async (path) => {
    await using world = await startWorld();
    expect((await world.send('PUT', path, { body: 'x' })).status).toBe(404);
  });

  test('a value that is not UTF-8 is 400', async () => {
    await using world = await startWorld();
    expect((await put(world, 'a', Buffer.from([0xff]))).status).toBe(400);
    expect((await read(world))['extended']).not.toHaveProperty('a');
  });

  test('a value of 64 KiB is taken, one byte more is 413', async () => {
    await using world = await startWorld();
    expect((await put(world, 'a', 'é'.repeat(32 * 1024))).status).toBe(204);
    expect((await put(world, 'b', `${'é'.repeat(32 * 1024)}x`)).error).toEqual([413, 'ERR_BODY_TOO_LARGE']);
  });

  test('a value over the limit of bodies is 413', async () => {
    await using world = await startWorld({ bodyLimitBytes: 100 });
    expect((await put(world, 'a', 'x'.repeat(200))).error).toEqual([413, 'ERR_BODY_TOO_LARGE']);
    expect((await put(world, 'a', 'x'.repeat(100))).status).toBe(204);
  });

  test('a thousand names are taken, one more is 400, an old one may still change', async () => {
    await using world = await startWorld();
    for (let n = 0; n < 999; n++) world.sidecar.metadata.set(`a${n}`, 'x');
    expect((await put(world, 'thousandth', 'x')).status).toBe(204);
    expect((await put(world, 'one-more', 'x')).error).toEqual([400, 'ERR_METADATA_LIMIT']);
    expect((await put(world, 'a0', 'y')).status).toBe(204);
    expect((await read(world))['extended']).toMatchObject({ a0: 'y', thousandth: 'x' });
  });
});
