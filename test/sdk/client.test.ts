/** The client of the package `@dapr/dapr`, unmodified, over HTTP. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { memoryPubSub } from '../../src/index.ts';
import { send } from '../support/http.ts';
import { PATIENCE, type SdkWorld, sdkWorld } from './world.ts';

let world: SdkWorld;

beforeAll(async () => {
  world = await sdkWorld({ components: [memoryPubSub('pubsub'), memoryPubSub('small', { maxMessages: 1 })] });
});

afterAll(() => world[Symbol.asyncDispose]());

interface Arrived {
  readonly data: unknown;
  readonly contentType: unknown;
  readonly type: unknown;
  readonly event: Record<string, unknown>;
}

/** Subscribes to a topic; what it resolves with waits for the next message, as it lies in the component. */
async function next(topic: string): Promise<() => Promise<Arrived>> {
  const seen: Arrived[] = [];
  await world.sidecar.pubsub.subscribe('pubsub', topic, ({ data }, { message }) => {
    const event = JSON.parse(Buffer.from(message.data).toString()) as Record<string, unknown>;
    seen.push({ data, contentType: event['datacontenttype'], type: event['type'], event });
  });
  return () => vi.waitUntil(() => seen[0], PATIENCE);
}

describe('publish', () => {
  test.each<[what: string, sent: object | string, contentType: string, data: unknown]>([
    ['an object', { id: 1 }, 'application/json', { id: 1 }],
    ['an array', [1, 2], 'application/json', [1, 2]],
    ['a string', 'hello', 'text/plain', 'hello'],
  ])('%s arrives with its type', async (what, sent, contentType, data) => {
    const arrived = await next(`types-${what.replaceAll(' ', '-')}`);
    expect(await world.client.pubsub.publish('pubsub', `types-${what.replaceAll(' ', '-')}`, sent)).toEqual({});
    expect(await arrived()).toMatchObject({ data, contentType, type: 'com.dapr.event.sent' });
  });

  test('bytes arrive as bytes', async () => {
    const arrived = await next('bytes');
    await world.client.pubsub.publish('pubsub', 'bytes', Buffer.from([0, 255]), {
      contentType: 'application/octet-stream',
    });
    expect((await arrived()).event).toMatchObject({ data_base64: 'AP8=', datacontenttype: 'application/octet-stream' });
  });

  test('a CloudEvent arrives as it is', async () => {
    const arrived = await next('event');
    const event = {
      specversion: '1.0',
      type: 'placed',
      source: 'shop',
      id: '7',
      data: { a: 1 },
      datacontenttype: 'application/json',
    };
    expect(await world.client.pubsub.publish('pubsub', 'event', event)).toEqual({});
    expect((await arrived()).event).toMatchObject({ ...event, topic: 'event', pubsubname: 'pubsub' });
  });

  test('nothing at all arrives as an event without data', async () => {
    const arrived = await next('nothing');
    expect(await world.client.pubsub.publish('pubsub', 'nothing')).toEqual({});
    expect((await arrived()).event).toMatchObject({ type: 'com.dapr.event.sent', data: '' });
  });

  test('a topic may have slashes', async () => {
    const arrived = await next('a/b');
    expect(await world.client.pubsub.publish('pubsub', 'a/b', 'x')).toEqual({});
    expect((await arrived()).event).toMatchObject({ topic: 'a/b' });
  });

  test('metadata is part of the request', async () => {
    const arrived = await next('metadata');
    const metadata = { 'cloudevent.type': 'mine', ttlInSeconds: 100 };
    await world.client.pubsub.publish('pubsub', 'metadata', { a: 1 }, { metadata });
    expect((await arrived()).event).toMatchObject({ type: 'mine', expiration: expect.any(String) });
  });

  test('an unknown component is an error in the answer', async () => {
    const { error } = await world.client.pubsub.publish('nope', 'a', 'x');
    expect(JSON.parse(error?.message ?? '')).toMatchObject({
      status: 404,
      error_msg: expect.stringContaining('"errorCode":"ERR_PUBSUB_NOT_FOUND"'),
    });
  });
});

describe('bulk publish', () => {
  test('every message arrives', async () => {
    const seen: unknown[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', 'bulk', ({ data }) => void seen.push(data));
    const messages = ['text', { id: 1 }, { entryID: 'three', event: { id: 3 }, contentType: 'application/json' }];
    expect(await world.client.pubsub.publishBulk('pubsub', 'bulk', messages)).toEqual({ failedMessages: [] });
    await expect.poll(() => seen, PATIENCE).toEqual(['text', { id: 1 }, { id: 3 }]);
  });

  test('those that failed are told by their own IDs', async () => {
    const big = 'x'.repeat(500);
    const { failedMessages } = await world.client.pubsub.publishBulk(
      'pubsub',
      'partly',
      [
        { entryID: 'good', event: 'a', contentType: 'text/plain' },
        { entryID: 'bad', event: big, contentType: 'text/plain' },
      ],
      { maxBulkPubBytes: 400 },
    );
    expect(failedMessages.map(({ message, error }) => [message.entryID, error.message])).toEqual([
      ['bad', expect.stringContaining('maxBulkPubBytes allows 400')],
    ]);
  });

  test('an unknown component fails all of them', async () => {
    const { failedMessages } = await world.client.pubsub.publishBulk('nope', 'a', ['x', 'y']);
    expect(failedMessages).toHaveLength(2);
  });
});

describe('metadata and health', () => {
  test('metadata is that of the sidecar', async () => {
    expect(await world.client.metadata.get()).toMatchObject({
      id: 'orders',
      components: expect.arrayContaining([expect.objectContaining({ name: 'pubsub', type: 'pubsub.in-memory' })]),
      extended: { daprRuntimeVersion: expect.any(String) },
    });
  });

  test('an attribute that is set is there', async () => {
    expect(await world.client.metadata.set('colour', 'blue green')).toBe(true);
    expect(await world.client.metadata.get()).toMatchObject({ extended: { colour: 'blue green' } });
  });

  test('the sidecar is healthy', async () => {
    expect(await world.client.health.isHealthy()).toBe(true);
  });
});

describe('what there is not', () => {
  test.each(['crypto', 'subtlecrypto', 'conversation'])('%s, in every version', async (what) => {
    for (const version of ['v1.0', 'v1.0-alpha1', 'v1.0-beta1']) {
      const answer = await send(world.http.url, 'POST', `/${version}/${what}/store`);
      expect([answer.status, answer.json['errorCode']]).toEqual([404, 'ERR_NOT_FOUND']);
      expect(answer.json['message']).toMatch(/^insidecar does not serve /);
    }
  });
});

describe('the API token', () => {
  test('a client with it is served, one without is not', async () => {
    await using guarded = await sdkWorld({ apiToken: 'secret', clientToken: 'secret' });
    expect(await guarded.client.pubsub.publish('pubsub', 'a', 'x')).toEqual({});
    const answer = await send(guarded.http.url, 'GET', '/v1.0/metadata');
    expect(answer.status).toBe(401);
  });
});

describe('shutdown', () => {
  test('stops the sidecar once messages in flight are done, and tells of it', async () => {
    const done: string[] = [];
    let release = (): void => undefined;
    await using other = await sdkWorld();
    other.sidecar.events.on('shutdownRequested', () => done.push('requested'));
    await other.sidecar.pubsub.subscribe('pubsub', 'slow', async () => {
      done.push('begun');
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      done.push('done');
    });
    await other.client.pubsub.publish('pubsub', 'slow', 'x');
    await expect.poll(() => done, PATIENCE).toEqual(['begun']);
    await other.client.sidecar.shutdown();
    expect(done).toEqual(['begun', 'requested']);
    const late = await send(other.http.url, 'POST', '/v1.0/publish/pubsub/slow', { body: 'x' });
    expect(late.error).toEqual([503, 'ERR_SHUTTING_DOWN']);
    release();
    await other.sidecar.stop();
    expect(done).toEqual(['begun', 'requested', 'done']);
  });

  test('needs the API token', async () => {
    await using guarded = await sdkWorld({ apiToken: 'secret', clientToken: 'secret' });
    expect((await send(guarded.http.url, 'POST', '/v1.0/shutdown')).status).toBe(401);
    expect(await guarded.client.health.isHealthy()).toBe(true);
  });
});
