import { describe, expect, test } from 'vitest';
import { postgresqlState } from '../../src/components/postgresql/index.ts';
import { memoryPubSub, Sidecar, type SidecarOptions } from '../../src/index.ts';

const SECRET = 's3cr3t-of-at-least-thirty-two-bytes!';
const appListener = (): void => undefined;

/** A secret at every place that may have one. */
const OPTIONS: SidecarOptions = {
  appId: 'shop',
  app: { listener: appListener, maxConcurrency: 5, health: { path: '/up' } },
  components: [memoryPubSub('pubsub')],
  state: postgresqlState({ url: `postgresql://shop:${SECRET}@db.internal:6543/shop` }),
  subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders', concurrency: 1 }],
  httpEndpoints: [
    {
      name: 'bank',
      baseUrl: `https://hooks.example.com/services/${SECRET}`,
      headers: { authorization: `Bearer ${SECRET}`, 'x-api-key': SECRET },
    },
  ],
  nameResolution: { static: { billing: `http://10.0.0.7:3500/${SECRET}`, mail: [`http://10.0.0.8:3500`] } },
  address: `http://10.0.0.5:3500/${SECRET}`,
  apiToken: SECRET,
  appToken: `app-${SECRET}`,
  resiliency: { policies: { retries: { r: { duration: '1s', maxRetries: 2 } } } },
  identity: { keys: [{ secret: SECRET, kid: '2026' }], peers: { billing: { secret: `${SECRET}2` } } },
  accessControl: { defaultAction: 'deny', policies: [] },
  cors: { origins: ['https://shop.example.com'] },
  jobs: { concurrency: 7 },
  workflows: { retention: { maxCount: 1_000 } },
  wire: 'dapr',
};

describe('configuration', () => {
  test('has every option with its default, and no secret, wherever it stands', () => {
    const shown = new Sidecar(OPTIONS).settings();
    expect(JSON.stringify(shown)).not.toContain('s3cr3t');
    expect(shown).toEqual({
      appId: 'shop',
      namespace: 'default',
      app: {
        listener: true,
        maxConcurrency: 5,
        health: { path: '/up', intervalMs: 5_000, timeoutMs: 500, threshold: 3 },
      },
      components: [{ name: 'pubsub', type: 'pubsub.in-memory', version: 'v1' }],
      secrets: {},
      state: { type: 'postgresql', place: expect.stringContaining('db.internal') },
      subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders', concurrency: 1 }],
      invocation: { urls: true },
      httpEndpoints: [
        { name: 'bank', baseUrl: 'https://hooks.example.com', headers: { authorization: '***', 'x-api-key': '***' } },
      ],
      nameResolution: { static: { billing: ['http://10.0.0.7:3500'], mail: ['http://10.0.0.8:3500'] } },
      address: 'http://10.0.0.5:3500',
      dapr: { features: [], placement: { enabled: false, actorTypes: [] } },
      jobs: { concurrency: 7, missedTicks: 'all', timeoutMs: 0, maxCrashes: 3, keepFailedMs: 604_800_000 },
      workflows: {
        maxConcurrentWorkflows: 1_000,
        maxConcurrentActivities: 1_000,
        maxIdleInstances: 10_000,
        maxCrashes: 3,
        retention: { maxCount: 1_000 },
      },
      wire: 'dapr',
      apiToken: '***',
      appToken: '***',
      resiliency: { policies: { retries: { r: { duration: '1s', maxRetries: 2 } } } },
      identity: { keys: [{ kid: '2026', secret: '***' }], peers: { billing: [{ secret: '***' }] } },
      accessControl: { defaultAction: 'deny', policies: [] },
      api: {},
      cors: { origins: ['https://shop.example.com'] },
      bodyLimitBytes: 4 * 1024 * 1024,
      headLimitBytes: 16 * 1024,
      deliveryTimeout: 0,
      stopTimeout: 10_000,
    });
  });

  test('what is undefined counts as left out, at every depth', () => {
    const _ = undefined;
    const given: SidecarOptions = {
      appId: 'shop',
      namespace: _,
      clock: _,
      state: _,
      bodyLimitBytes: _,
      app: { port: 3000, host: _, protocol: _, health: { path: _, interval: _, timeout: _, threshold: _ } },
      components: [memoryPubSub('pubsub', { maxMessages: _, deadLetterRetention: { maxMessages: _, maxAge: _ } })],
      subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/on', routes: _, deadLetterTopic: _ }],
      httpEndpoints: [{ name: 'bank', baseUrl: 'https://bank.example.com', headers: _, clientTLS: _ }],
      invocation: { urls: _ },
      dapr: { features: _, placement: { enabled: _, actorTypes: _ } },
      jobs: { concurrency: _, missedTicks: _, timeout: _, maxCrashes: _ },
      workflows: { maxIdleInstances: _, retention: { completed: _, maxCount: _ } },
      resiliency: _,
    };
    const left: SidecarOptions = {
      appId: 'shop',
      app: { port: 3000, health: {} },
      components: [memoryPubSub('pubsub')],
      subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/on' }],
      httpEndpoints: [{ name: 'bank', baseUrl: 'https://bank.example.com' }],
    };
    expect(new Sidecar(given).settings()).toStrictEqual(new Sidecar(left).settings());
  });

  test('is a copy', () => {
    const sidecar = new Sidecar({
      appId: 'shop',
      api: {},
      subscriptions: [{ pubsubName: 'p', topic: 't', route: '/t' }],
    });
    const shown = sidecar.settings() as { subscriptions: { topic: string }[] };
    for (const subscription of shown.subscriptions) subscription.topic = 'changed';
    expect(sidecar.settings()['subscriptions']).toEqual([{ pubsubName: 'p', topic: 't', route: '/t' }]);
  });

  test.each([
    ['One', 'options.dapr.features must be array'],
    [[1], 'options.dapr.features.0 must be string'],
    [[''], 'options.dapr.features.0 must NOT have fewer than 1 characters'],
  ])('features %j: refused', (features, named) => {
    expect(() => new Sidecar({ appId: 'shop', dapr: { features: features as string[] } })).toThrow(named);
  });

  test('does not show a token or a key that there is not', () => {
    const shown = new Sidecar({ appId: 'shop', app: { port: 3000 } }).settings();
    expect(shown).toMatchObject({ app: { port: 3000 }, state: { type: 'memory' } });
    for (const name of ['apiToken', 'appToken', 'identity']) expect(shown).not.toHaveProperty(name);
  });
});
