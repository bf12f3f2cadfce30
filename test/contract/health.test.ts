import { describe, expect, test } from 'vitest';
import { Sidecar } from '../../src/index.ts';
import { NEVER, RecordingApp } from '../support/app.ts';
import { freePort, listen } from '../support/http.ts';
import { KeptStore } from '../support/kept-store.ts';
import { WAYS } from '../support/served.ts';
import { createWorld, startWorld } from '../support/world.ts';

const HEALTHZ = '/v1.0/healthz';
const OUTBOUND = '/v1.0/healthz/outbound';

describe('health', () => {
  test.each(WAYS)('both probes answer 204 without a body when all is ready: application via %s', async (via) => {
    await using world = await startWorld({ via });
    for (const path of [HEALTHZ, OUTBOUND]) {
      const answer = await world.send('GET', path);
      expect([answer.status, answer.text]).toEqual([204, '']);
    }
  });

  test('a request target with scheme and host is taken for its path', async () => {
    await using world = await startWorld({ apiToken: 'token' });
    for (const [target, status] of [
      [world.server.url + HEALTHZ, 204],
      [`http://other.example${HEALTHZ}?appid=nobody`, 500],
      [`${world.server.url}/v1.0/metadata`, 401],
      [world.server.url, 401],
      [`http:/${HEALTHZ}`, 401],
    ] as const)
      expect(await world.raw(`GET ${target} HTTP/1.1`, 'host: a', 'connection: close', '', ''), target).toContain(
        `HTTP/1.1 ${status} `,
      );
  });

  test('both answer 204 without an application', async () => {
    await using world = await startWorld({ app: undefined as never });
    expect((await world.send('GET', HEALTHZ)).status).toBe(204);
    expect((await world.send('GET', OUTBOUND)).status).toBe(204);
  });

  test('before the start both answer 500 and name what is not ready', async () => {
    await using world = await createWorld();
    const [healthz, outbound] = [await world.send('GET', HEALTHZ), await world.send('GET', OUTBOUND)];
    expect(healthz.error).toEqual([500, 'ERR_HEALTH_NOT_READY']);
    expect(healthz.json['message']).toBe('sidecar is not ready: [components app-channel]');
    expect(outbound.error).toEqual([500, 'ERR_OUTBOUND_HEALTH_NOT_READY']);
    expect(outbound.json['message']).toBe('sidecar outbound is not ready: [components]');
  });

  test('while the application does not listen healthz answers 500, outbound 204; then both answer 204', async () => {
    const port = await freePort();
    await using world = await startWorld({ app: { port } });
    const before = await world.send('GET', HEALTHZ);
    expect(before.error).toEqual([500, 'ERR_HEALTH_NOT_READY']);
    expect(before.json['message']).toBe('sidecar is not ready: [app-channel]');
    expect((await world.send('GET', OUTBOUND)).status).toBe(204);
    expect((await world.publish('x')).status).toBe(204);

    await using _app = await listen(new RecordingApp([{ body: '[]' }], () => undefined).listener, port);
    const ready = world.sidecar.ready();
    while (world.emitted('appReady').length === 0) await world.clock.advance('100ms');
    await ready;
    expect((await world.send('GET', HEALTHZ)).status).toBe(204);
  });

  test('while it stops both answer 500', async () => {
    await using world = await startWorld({ answer: () => NEVER });
    await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' });
    const stopped = world.sidecar.stop();
    expect((await world.send('GET', HEALTHZ)).error).toEqual([500, 'ERR_HEALTH_NOT_READY']);
    expect((await world.send('GET', OUTBOUND)).error).toEqual([500, 'ERR_OUTBOUND_HEALTH_NOT_READY']);
    await world.clock.advance('11s');
    await stopped;
  });

  test('appid of this sidecar passes, another one answers 500 ERR_HEALTH_APPID_NOT_MATCH', async () => {
    await using world = await startWorld();
    expect((await world.send('GET', `${HEALTHZ}?appid=shop`)).status).toBe(204);
    for (const other of ['other', 'SHOP', ''])
      expect((await world.send('GET', `${HEALTHZ}?appid=${other}`)).error).toEqual([500, 'ERR_HEALTH_APPID_NOT_MATCH']);
  });

  test('a component that cannot be opened fails the start, and the sidecar is not healthy', async () => {
    const refusing = {
      name: 'x',
      type: 'pubsub.x',
      version: 'v1',
      topics: {},
      open: () => Promise.reject(new Error('no')),
    };
    await using world = await createWorld({ components: [refusing] });
    await expect(world.sidecar.start()).rejects.toThrow('no');
    expect((await world.send('GET', OUTBOUND)).status).toBe(500);
  });

  test('in code: check() and checkOutbound() throw what the probes answer', async () => {
    await using sidecar = new Sidecar({ appId: 'shop' });
    expect(() => sidecar.health.check()).toThrow(expect.objectContaining({ code: 'ERR_HEALTH_NOT_READY' }));
    await sidecar.start();
    sidecar.health.check('shop');
    sidecar.health.checkOutbound();
    expect(() => sidecar.health.check('other')).toThrow(
      expect.objectContaining({ code: 'ERR_HEALTH_APPID_NOT_MATCH' }),
    );
  });
});

describe('health.state', () => {
  test('tells of each part whether it is ready, and why not', async () => {
    await using world = await createWorld();
    const { health } = world.sidecar;
    expect(health.state()).toEqual({
      isReady: false,
      isOutboundReady: false,
      checks: [
        { name: 'components', isReady: false },
        { name: 'state', isReady: true },
        { name: 'app-channel', isReady: false, reason: 'absent' },
      ],
    });
    await world.start();
    const checks = ['components', 'state', 'app-channel'].map((name) => ({ name, isReady: true }));
    expect(health.state()).toEqual({ isReady: true, isOutboundReady: true, checks });
    await world.sidecar.stop();
    expect(health.state()).toMatchObject({ isReady: false, isOutboundReady: false });
  });

  test('names the failure of the state store', async () => {
    const store = new KeptStore();
    const open = store.open.bind(store);
    let failure: Error | undefined;
    store.open = async () => Object.defineProperty(await open(), 'failure', { get: () => failure });
    await using world = await startWorld({ state: store, app: undefined as never });
    failure = new Error('the disk is full');
    expect(world.sidecar.health.state()).toEqual({
      isReady: false,
      isOutboundReady: false,
      checks: [
        { name: 'components', isReady: true },
        { name: 'state', isReady: false, reason: 'the disk is full' },
      ],
    });
  });
});
