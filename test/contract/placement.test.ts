import { afterEach, describe, expect, test, vi } from 'vitest';
import { memoryState, sharedState } from '../../src/index.ts';
import { Fleet } from '../support/fleet.ts';
import { KeptStore } from '../support/kept-store.ts';
import { startWorld } from '../support/world.ts';

const STATE = '/placement/state';

afterEach(() => vi.unstubAllEnvs());

describe('GET /placement/state', () => {
  test('answers 404 ERR_NOT_FOUND while it is not enabled, with and without a token', async () => {
    await using world = await startWorld({ apiToken: 'secret' });
    const token = { headers: { 'sidecar-api-token': 'secret' } };
    expect((await world.send('GET', STATE)).error).toEqual([404, 'ERR_NOT_FOUND']);
    expect((await world.send('GET', STATE, token)).error).toEqual([404, 'ERR_NOT_FOUND']);
    await expect(world.sidecar.placement.get()).rejects.toMatchObject({ code: 'ERR_NOT_FOUND', status: 404 });
  });

  test('answers the table without a token, to GET and HEAD only', async () => {
    await using world = await startWorld({
      apiToken: 'secret',
      dapr: { placement: { enabled: true, actorTypes: ['Order', 'Cart'] } },
    });
    const answer = await world.send('GET', STATE);
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json']);
    expect(answer.text).toBe(
      '{"hostList":[{"name":"in-process:0","namespace":"default","appId":"shop","actorTypes":["Cart","Order"],' +
        '"updatedAt":1767225600000000000}],"tableVersion":1}',
    );
    const head = await world.send('HEAD', STATE);
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', String(answer.bytes.length)]);
    const token = { headers: { 'sidecar-api-token': 'secret' } };
    for (const method of ['POST', 'PUT', 'DELETE']) {
      expect((await world.send(method, STATE)).error).toEqual([401, 'ERR_UNAUTHORIZED']);
      expect((await world.send(method, STATE, token)).error).toEqual([405, 'ERR_METHOD_NOT_ALLOWED']);
    }
  });

  test('names a host by host and port of its address', async () => {
    const names: unknown[] = [];
    for (const address of ['http://10.0.0.5:3500/base', 'http://shop.local', 'https://[::1]']) {
      await using world = await startWorld({ address, dapr: { placement: { enabled: true, actorTypes: ['A'] } } });
      const { hostList } = (await world.send('GET', STATE)).json as { hostList: { name: string }[] };
      names.push(hostList[0]?.name);
    }
    expect(names).toEqual(['10.0.0.5:3500', 'shop.local:80', '[::1]:443']);
  });

  test('lists hosts with actor types only; without any the list is empty and the version 0', async () => {
    const state = sharedState(memoryState());
    await using _plain = await startWorld({ appId: 'plain', state });
    await using world = await startWorld({ state, dapr: { placement: { enabled: true } } });
    expect((await world.send('GET', STATE)).text).toBe('{"hostList":[],"tableVersion":0}');
    await using other = await startWorld({ appId: 'other', state, dapr: { placement: { actorTypes: ['A'] } } });
    const { hostList, tableVersion } = await world.sidecar.placement.get();
    expect(hostList.map(({ appId, actorTypes }) => [appId, actorTypes])).toEqual([['other', ['A']]]);
    expect(tableVersion).toBe(1);
    await other.sidecar.stop();
    expect((await world.send('GET', STATE)).text).toBe('{"hostList":[],"tableVersion":2}');
  });

  test('has a version that grows over restarts', async () => {
    const state = new KeptStore();
    const versions: number[] = [];
    for (let start = 0; start < 3; start++) {
      await using world = await startWorld({ state, dapr: { placement: { enabled: true, actorTypes: ['A'] } } });
      versions.push((await world.sidecar.placement.get()).tableVersion);
    }
    expect(versions).toEqual([1, 3, 5]);
  });

  test('answers 500 when the table cannot be read', async () => {
    const state = new KeptStore();
    await using world = await startWorld({ state, dapr: { placement: { enabled: true } } });
    state.failReads = true;
    const answer = await world.send('GET', STATE);
    expect(answer.error).toEqual([500, 'ERR_INTERNAL']);
    expect(answer.json['message']).toBe('the placement table cannot be read from the state store');
    state.failReads = false;
    expect((await world.send('GET', STATE)).status).toBe(200);
  });

  test.each([
    ['sidecar', 'SIDECAR_PLACEMENT_METADATA_ENABLED'],
    ['dapr', 'DAPR_PLACEMENT_METADATA_ENABLED'],
  ] as const)('is enabled by the environment: wire %s, %s', async (wire, variable) => {
    const statuses: Record<string, number> = {};
    for (const value of ['1', 'true', 'YES', 'on', 'y', 't', '', '0', 'false', 'no', 'off', 'n', 'f']) {
      vi.stubEnv(variable, value);
      await using world = await startWorld({ wire });
      statuses[value] = (await world.send('GET', STATE)).status;
    }
    const on = { '1': 200, true: 200, YES: 200, on: 200, y: 200, t: 200 };
    expect(statuses).toEqual({ ...on, '': 404, '0': 404, false: 404, no: 404, off: 404, n: 404, f: 404 });
    vi.stubEnv(variable, 'maybe');
    await expect(startWorld({ wire })).rejects.toMatchObject({ code: 'ERR_CONFIGURATION' });
    await using world = await startWorld({ wire, dapr: { placement: { enabled: false } } });
    expect((await world.send('GET', STATE)).status).toBe(404);
  });

  test('does not listen to the other wire’s variable', async () => {
    vi.stubEnv('DAPR_PLACEMENT_METADATA_ENABLED', 'true');
    await using world = await startWorld();
    expect((await world.send('GET', STATE)).status).toBe(404);
  });
});

describe('actor types', () => {
  test('stand in metadata, with how many of each are in memory', async () => {
    await using world = await startWorld({ dapr: { placement: { actorTypes: ['Cart'] } } });
    expect((await world.send('GET', '/v1.0/metadata')).json['actors']).toEqual([{ type: 'Cart', count: 0 }]);
  });

  test.each(['sidecar', 'dapr'] as const)('of the workflow engine carry the name of the wire: %s', async (wire) => {
    await using world = await startWorld({ wire, dapr: { placement: { enabled: true } } });
    world.sidecar.placement.hasWorkflows({ workflows: () => 2, activities: () => 7 });
    await world.clock.settled();
    const types = [`${wire}.internal.default.shop.activity`, `${wire}.internal.default.shop.workflow`];
    const { hostList, tableVersion } = await world.sidecar.placement.get();
    expect([hostList[0]?.actorTypes, tableVersion]).toEqual([types, 1]);
    const actors = (await world.send('GET', '/v1.0/metadata')).json['actors'];
    expect(actors).toEqual([
      { type: types[1], count: 2 },
      { type: types[0], count: 7 },
    ]);
  });
});

describe('placement.hosts', () => {
  const ALL = Array.from({ length: 64 }, (_, shard) => shard);

  test('tells of the only host, which owns every shard, without the option placement', async () => {
    await using world = await startWorld({ address: 'http://10.0.0.5:3500' });
    await world.clock.settled();
    const startedAt = world.clock.now();
    expect(await world.sidecar.placement.hosts()).toEqual([
      {
        hostId: expect.any(String),
        isSelf: true,
        appId: 'shop',
        namespace: 'default',
        address: 'http://10.0.0.5:3500',
        actorTypes: [],
        updatedAt: startedAt,
        shards: ALL,
      },
    ]);
    await world.sidecar.stop();
    await expect(world.sidecar.placement.hosts()).rejects.toMatchObject({ code: 'ERR_INTERNAL' });
  });

  test('tells of all hosts of a store, and how the shards of an app ID are divided', async () => {
    await using fleet = new Fleet();
    const [a, b, other] = [await fleet.join(), await fleet.join(), await fleet.join({ appId: 'other' })];
    await fleet.pass(5);
    const hosts = await a.sidecar.placement.hosts();
    expect(hosts.map(({ appId }) => appId)).toEqual(['other', 'shop', 'shop']);
    expect(hosts.filter(({ isSelf }) => isSelf)).toHaveLength(1);
    const [ofOther, one, two] = hosts.map(({ shards }) => shards);
    expect(ofOther).toEqual(ALL);
    expect([one?.length, two?.length]).toEqual([32, 32]);
    expect([...(one ?? []), ...(two ?? [])].sort((x, y) => x - y)).toEqual(ALL);
    const own = (await b.sidecar.placement.hosts()).find(({ isSelf }) => isSelf);
    await b.stop();
    await fleet.pass(5, [a, other]);
    const left = await a.sidecar.placement.hosts();
    expect(left.map(({ hostId }) => hostId)).not.toContain(own?.hostId);
    expect(left.map(({ shards }) => shards)).toEqual([ALL, ALL]);
  });
});
