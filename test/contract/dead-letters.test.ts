import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { type DeadLetterOrigin, durablePubSub, memoryPubSub, Sidecar } from '../../src/index.ts';
import type { PubSubDefinition } from '../../src/kit/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { KeptStore } from '../support/kept-store.ts';
import { RecordingLogger } from '../support/logger.ts';
import { WAYS } from '../support/served.ts';
import { startWorld, type World } from '../support/world.ts';

const orders = (more: object = {}): Record<string, unknown> => ({
  pubsubname: 'pubsub',
  topic: 'orders',
  route: '/orders',
  deadLetterTopic: 'dead',
  retry: { maxRetries: 2, initialDelayMs: 1_000 },
  ...more,
});
const dead = (more: object = {}): Record<string, unknown> => ({
  pubsubname: 'pubsub',
  topic: 'dead',
  route: '/dead',
  ...more,
});

const fails = (path: string): { status?: number } => (path === '/orders' ? { status: 503 } : {});

const FIELDS = ['topic', 'group', 'reason', 'attempts', 'at'];

/** What headers, or the metadata of an entry, tell of an origin. */
function originIn(told: Readonly<Record<string, unknown>>, prefix = 'sidecar'): Record<string, unknown> {
  return Object.fromEntries(FIELDS.map((field) => [field, told[`${prefix}-dead-letter-${field}`]]));
}

/** As an application reads them. */
function decoded(origin: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(origin).map(([name, value]) => [name, decodeURIComponent(String(value))]));
}

const ORIGIN = {
  topic: 'orders',
  group: 'shop',
  reason: 'the application answered 503',
  attempts: '3',
  at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/),
};

async function deadLettered(world: World, body: unknown = 'x', query = ''): Promise<void> {
  await world.publish(body, { query });
  await world.pass('1m');
}

describe.each(WAYS)('a dead letter tells the application where it comes from, via %s', (via) => {
  test.each(['sidecar', 'dapr'] as const)('in headers of wire %s; its bytes are as they were', async (wire) => {
    await using world = await startWorld({
      via,
      wire,
      discovery: [orders(), dead()],
      answer: ({ path }) => fails(path),
    });
    await deadLettered(world, { id: 1 });
    const [letter] = world.at('/dead');
    expect(originIn(letter?.headers ?? {}, wire)).toEqual(ORIGIN);
    expect(letter?.bytes.equals(world.at('/orders')[0]?.bytes ?? Buffer.alloc(0))).toBe(true);
    for (const { headers } of world.at('/orders')) expect(JSON.stringify(headers)).not.toContain('dead-letter');
  });

  test('of a raw payload too', async () => {
    const metadata = { rawPayload: 'true' };
    const discovery = [orders({ metadata }), dead({ metadata })];
    await using world = await startWorld({ via, discovery, answer: ({ path }) => fails(path) });
    await deadLettered(world, '\x00\xff', 'metadata.rawPayload=true');
    const [letter] = world.at('/dead');
    expect(originIn(letter?.headers ?? {})).toEqual(ORIGIN);
    expect(letter?.text).toBe('\x00\xff');
  });

  test('in the metadata of its entry, in bulk', async () => {
    const discovery = [orders(), dead({ bulkSubscribe: { maxAwaitDurationMs: 1 } })];
    await using world = await startWorld({ via, discovery, answer: ({ path }) => fails(path) });
    await deadLettered(world, 'x', 'metadata.key=value&metadata.Sidecar-Dead-Letter-Topic=lie');
    const [letter] = world.at('/dead');
    expect(letter?.entries[0]?.metadata).toEqual({
      key: 'value',
      ...Object.fromEntries(Object.entries(ORIGIN).map(([name, value]) => [`sidecar-dead-letter-${name}`, value])),
    });
  });

  test.each([false, true])('and no publisher can say so, in bulk: %s', async (isBulk) => {
    const bulkSubscribe = { enabled: isBulk, maxAwaitDurationMs: 1 };
    await using world = await startWorld({ via, discovery: [orders({ bulkSubscribe })] });
    await world.publish('x', { query: 'metadata.Sidecar-Dead-Letter-Reason=lie&metadata.good=1' });
    await world.pass('1s');
    const [received] = world.deliveries;
    const told = isBulk ? received?.entries[0]?.metadata : received?.headers;
    expect(told).toMatchObject({ good: '1' });
    expect(JSON.stringify(told)).not.toContain('lie');
  });

  test('safely, whatever topic and reason are', async () => {
    const topic = 'a%20b\r\nx: grüße 🚀 ';
    const odd = orders({ topic, group: 'größe' });
    const answer = { body: { status: 'LATER\r\ninjected: 1\u2028%41🚀' } };
    await using world = await startWorld({
      via,
      discovery: [odd, dead()],
      answer: ({ path }) => (path === '/orders' ? answer : {}),
    });
    await world.sidecar.pubsub.publish('pubsub', topic, 'x');
    await world.pass('1m');
    const headers = world.at('/dead')[0]?.headers ?? {};
    expect(headers).not.toHaveProperty('injected');
    for (const value of Object.values(originIn(headers))) expect(value).toMatch(/^[!-~]([ -~]*[!-~])?$/);
    expect(decoded(originIn(headers))).toMatchObject({
      topic,
      group: 'shop/größe',
      reason: `the application answered the unknown status ${JSON.stringify(answer.body.status)}`,
    });
  });
});

describe('a dead letter', () => {
  test('that is dead-lettered again tells of the last time', async () => {
    const discovery = [
      orders(),
      dead({ deadLetterTopic: 'deader', retry: { maxRetries: 0 } }),
      { pubsubname: 'pubsub', topic: 'deader', route: '/deader' },
    ];
    await using world = await startWorld({
      discovery,
      answer: ({ path }) => ({ '/orders': { status: 503 }, '/dead': { status: 500 } })[path],
    });
    await deadLettered(world);
    expect(originIn(world.at('/dead')[0]?.headers ?? {})).toEqual(ORIGIN);
    expect(originIn(world.at('/deader')[0]?.headers ?? {})).toEqual({
      ...ORIGIN,
      topic: 'dead',
      attempts: '1',
      reason: 'the application answered 500',
    });
  });

  test('that is published again in code is an ordinary message', async () => {
    await using world = await startWorld({
      discovery: [orders(), { ...dead(), topic: 'again', route: '/again' }],
      answer: ({ path }) => fails(path),
    });
    await world.sidecar.pubsub.subscribe('pubsub', 'dead', (event) =>
      world.sidecar.pubsub.publish('pubsub', 'again', event.data),
    );
    await deadLettered(world);
    expect(originIn(world.at('/again')[0]?.headers ?? {})).toEqual(originIn({}));
  });

  test('that was dropped, or has expired, says so', async () => {
    await using world = await startWorld({
      discovery: [orders(), dead()],
      answer: ({ path }) => (path === '/orders' ? { body: { status: 'DROP' } } : {}),
    });
    await deadLettered(world);
    const retry = { delay: '10s' } as const;
    await world.sidecar.pubsub.subscribe('pubsub', 'late', () => 'RETRY', { deadLetterTopic: 'dead', retry });
    await world.sidecar.pubsub.publish('pubsub', 'late', 'x', { ttl: 1_000 });
    await world.pass('1m');
    expect(world.at('/dead').map(({ headers }) => originIn(headers))).toEqual([
      { ...ORIGIN, attempts: '1', reason: 'the application answered DROP' },
      { ...ORIGIN, topic: 'late', attempts: '2', reason: 'the message has expired' },
    ]);
  });

  test('has a reason of at most 1 KiB of UTF-8, without half a character', async () => {
    await using world = await startWorld({ discovery: [dead()] });
    const fail = (): never => {
      throw new Error(`x${'🚀'.repeat(1_000)}`);
    };
    const seen: (DeadLetterOrigin | undefined)[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', 'orders', fail, {
      deadLetterTopic: 'dead',
      retry: { maxRetries: 0 },
    });
    await world.sidecar.pubsub.subscribe('pubsub', 'dead', (_event, { deadLetter }) => void seen.push(deadLetter), {
      group: 'own',
    });
    await world.publish('x');
    expect(seen[0]?.reason).toBe(`x${'🚀'.repeat(255)}`);
    expect(decodeURIComponent(String(world.at('/dead')[0]?.headers['sidecar-dead-letter-reason']))).toBe(
      seen[0]?.reason,
    );
  });
});

let directories: string[] = [];
afterAll(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true }))));

async function onDisk(): Promise<ReturnType<typeof embeddedState>> {
  const directory = await mkdtemp(join(tmpdir(), 'insidecar-dead-'));
  directories = [...directories, directory];
  return embeddedState({ path: join(directory, 'state') });
}

describe('functions get the origin of a dead letter with it', () => {
  test.each<[component: string, pubsub: () => PubSubDefinition, state: () => unknown]>([
    ['memory', () => memoryPubSub('pubsub'), () => new KeptStore()],
    ['durable', () => durablePubSub('pubsub'), () => new KeptStore()],
    ['durable, on disk', () => durablePubSub('pubsub'), onDisk],
  ])('%s component', async (_, pubsub, makeState) => {
    const clock = virtualClock({ startAt: '2026-01-01T00:00:00Z' });
    const state = (await makeState()) as KeptStore;
    await using sidecar = new Sidecar({
      appId: 'shop',
      components: [pubsub()],
      clock,
      state,
      logger: new RecordingLogger(),
    });
    await sidecar.start();
    const seen: unknown[] = [];
    const fail = (): never => {
      throw new Error('declined');
    };
    const options = { deadLetterTopic: 'dead', group: 'billing', retry: { maxRetries: 1, delay: 1_000 } };
    await sidecar.pubsub.subscribe('pubsub', 'orders', fail, options);
    await sidecar.pubsub.subscribe('pubsub', 'dead', ({ data }, { message, deadLetter }) => {
      seen.push([data, deadLetter, message.deadLetter === deadLetter]);
    });
    await sidecar.pubsub.publish('pubsub', 'orders', { id: 7 });
    await sidecar.pubsub.publish('pubsub', 'dead', 'ordinary');
    await clock.advance('1m');
    const origin = {
      topic: 'orders',
      group: 'shop/billing',
      reason: 'declined',
      attempts: 2,
      deadAt: expect.closeTo(Date.parse('2026-01-01T00:00:01Z'), -4),
    };
    expect(seen).toEqual([
      ['ordinary', undefined, true],
      [{ id: 7 }, origin, true],
    ]);
  });
});
