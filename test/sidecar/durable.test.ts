import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openEmbeddedStore } from '../../src/components/embedded/embedded-store.ts';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { request } from '../../src/http/message.ts';
import { durablePubSub, type Logger, Sidecar, type SidecarOptions } from '../../src/index.ts';
import { patientClock } from '../support/clock.ts';

const logger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let path = '';
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'insidecar-sidecar-'));
});
afterEach(() => rm(path, { recursive: true, force: true }));

async function start(options: SidecarOptions = {}): Promise<Sidecar> {
  const sidecar = new Sidecar({
    appId: 'orders',
    components: [durablePubSub('pubsub')],
    state: embeddedState({ path }),
    logger,
    ...options,
  });
  await sidecar.start();
  return sidecar;
}

describe('a sidecar with durable state', () => {
  test('delivers after a restart what the application had not processed', async () => {
    const subscriptions = [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders' }];
    const failing = { fetch: (toApp: Request) => new Response(null, { status: toApp.method === 'POST' ? 503 : 404 }) };
    const clock = patientClock();
    const before = await start({ subscriptions, app: failing, clock });
    const publish = request('POST', '/v1.0/publish/pubsub/orders', { body: { id: 12345 } });
    expect((await before.handle(publish)).status).toBe(204);
    await clock.settled();
    await before.stop();

    const received: unknown[] = [];
    const working = {
      fetch: async (toApp: Request) => {
        if (toApp.method !== 'POST') return new Response(null, { status: 404 });
        received.push(await toApp.json());
        return new Response();
      },
    };
    const after = await start({ subscriptions, app: working, clock });
    await clock.advance('1s');
    expect(received).toMatchObject([{ topic: 'orders', data: { id: 12345 } }]);
    await after.stop();
    const last = await start({ subscriptions, app: working, clock });
    await clock.advance('1m');
    expect(received).toHaveLength(1);
    await last.stop();
  });

  test('refuses to start on a directory that another one has for itself, and starts when it is free', async () => {
    const state = embeddedState({ path, exclusive: true });
    const first = await start({ state });
    await expect(start({ state })).rejects.toThrow(path);
    await first.stop();
    await (await start({ state })).stop();
  });

  test('answers 500 to a publish that the disk has no room for, and is not healthy', async () => {
    const state = {
      type: 'embedded',
      open: (context: Parameters<typeof openEmbeddedStore>[1]) => openEmbeddedStore(path, context, { maxPages: 64 }),
    };
    const sidecar = await start({ state });
    const received: string[] = [];
    const subscription = await sidecar.pubsub.subscribe('pubsub', 'orders', (event) => void received.push(event.id));
    await subscription.close();
    const large = request('POST', '/v1.0/publish/pubsub/orders', { body: 'x'.repeat(100_000) });
    let status = 204;
    for (let tries = 0; status === 204 && tries < 10; tries++) status = (await sidecar.handle(large)).status;
    expect(status).toBe(500);
    // Publishers are told why, but not where on this machine.
    const refused = (await sidecar.handle(large)).body.toString();
    expect(refused).toContain('no space left');
    expect(refused).not.toContain(path);
    const health = await sidecar.handle(request('GET', '/v1.0/healthz'));
    expect([health.status, health.body.toString()]).toEqual([500, expect.stringContaining('state')]);
    await sidecar.stop();
  });
});
