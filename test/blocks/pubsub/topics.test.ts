import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  defineTopic,
  isSidecarError,
  memoryPubSub,
  type StandardSchema,
  type TopicDefinition,
} from '../../../src/index.ts';
import { TestSidecar } from '../../support/sidecar.ts';

interface Placed {
  readonly id: number;
  readonly at: Date;
}

const ID = /^id:/;

const SCHEMAS: readonly (readonly [string, StandardSchema<{ id: number; at: string }, Placed>])[] = [
  ['zod', z.object({ id: z.number(), at: z.iso.datetime().transform((text) => new Date(text)) })],
  [
    'valibot',
    v.object({
      id: v.number(),
      at: v.pipe(
        v.string(),
        v.transform((text) => new Date(text)),
      ),
    }),
  ],
  ['arktype', type({ id: 'number', at: 'string.date.iso.parse' })],
];

function shop(...names: string[]): TestSidecar {
  return new TestSidecar({ components: (names.length > 0 ? names : ['pubsub']).map((name) => memoryPubSub(name)) });
}

const refusal = (promise: Promise<unknown>): Promise<{ code: string; message: string } | undefined> =>
  promise.then(
    () => undefined,
    (error: unknown) => (isSidecarError(error) ? { code: error.code, message: error.message } : Promise.reject(error)),
  );

describe.each(SCHEMAS)('a topic with a schema of %s', (_, schema) => {
  const orders = defineTopic('orders', { schema });

  test('hands the parsed output to the function, and the event in its context', async () => {
    await using world = await shop().start();
    const { pubsub } = world.sidecar;
    const seen: unknown[] = [];
    await pubsub.subscribe(orders, ({ id, at }, { event, attempt }) => {
      seen.push([id, at, event.type, event.data, attempt]);
    });
    await pubsub.publish(orders, { id: 7, at: '2026-05-01T00:00:00.000Z' }, { cloudEvent: { type: 'placed' } });
    await world.clock.settled();
    const at = '2026-05-01T00:00:00.000Z';
    expect(seen).toEqual([[7, new Date(at), 'placed', { id: 7, at }, 1]]);
  });

  test('refuses what does not fit when it is published, by its path', async () => {
    await using world = await shop().start();
    const data = { id: 'seven', at: '2026-05-01T00:00:00.000Z' } as never;
    const problem = await refusal(world.sidecar.pubsub.publish(orders, data));
    expect(problem?.code).toBe('ERR_INVALID_DATA');
    const [what, listed = ''] = problem?.message.split(' does not fit the schema: ') ?? [];
    expect(what).toBe('the data for topic "orders"');
    expect(listed).toMatch(ID);
    expect(world.emitted('messagePublished')).toEqual([]);
  });

  test('dead-letters what does not fit when it is delivered, at once and with the reason', async () => {
    await using world = await shop().start();
    const { pubsub } = world.sidecar;
    const dead: unknown[] = [];
    const calls: unknown[] = [];
    await pubsub.subscribe('pubsub', 'dead', ({ data }, { deadLetter }) => dead.push([data, deadLetter]));
    await pubsub.subscribe(orders, (order) => calls.push(order), { deadLetterTopic: 'dead' });
    await pubsub.publish('pubsub', 'orders', { id: 'seven', at: '2026-05-01T00:00:00.000Z' });
    await world.clock.settled();
    expect(calls).toEqual([]);
    expect(dead).toEqual([
      [
        { id: 'seven', at: '2026-05-01T00:00:00.000Z' },
        expect.objectContaining({
          attempts: 1,
          reason: expect.stringMatching(/^the data of topic "orders" does not fit the schema: id:/),
        }),
      ],
    ]);
  });

  test('drops what does not fit with an error in the log where there is no dead-letter topic', async () => {
    await using world = await shop().start();
    await world.sidecar.pubsub.subscribe(orders, () => undefined);
    await world.sidecar.pubsub.publish('pubsub', 'orders', { id: 'seven' });
    await world.clock.settled();
    expect(world.emitted('messageDropped')).toMatchObject([{ topic: 'orders', attempt: 1 }]);
    expect(world.logger.at('error')).toMatchObject([
      { message: 'message not processed', details: { reason: expect.stringContaining('does not fit the schema: ') } },
    ]);
  });
});

test('a schema sees the data as they are sent', async () => {
  await using world = await shop().start();
  const orders = defineTopic('orders', { schema: z.object({ at: z.date() }) });
  const problem = await refusal(world.sidecar.pubsub.publish(orders, { at: new Date(0) }));
  expect(problem).toMatchObject({ code: 'ERR_INVALID_DATA', message: expect.stringContaining('schema: at: ') });
});

test.each([
  ['a text', z.string(), 'a text', 'a text'],
  ['bytes', z.instanceof(Uint8Array), new Uint8Array([1, 2]), Buffer.from([1, 2])],
  ['null', z.null(), null, null],
  ['what is the same for JSON', z.object({ at: z.coerce.date() }), { at: new Date(0) }, { at: new Date(0) }],
])('takes %s', async (_, schema, data, seen) => {
  await using world = await shop().start();
  const topic = defineTopic('things', { schema: schema as StandardSchema });
  const calls: unknown[] = [];
  await world.sidecar.pubsub.subscribe(topic, (value) => void calls.push(value));
  await world.sidecar.pubsub.publish(topic, data);
  await world.clock.settled();
  expect(calls).toEqual([seen]);
});

test('waits for a schema that is asynchronous', async () => {
  await using world = await shop().start();
  const schema = z.string().refine(async (text) => text === 'known', 'unknown customer');
  const customers = defineTopic('customers', { schema });
  const calls: unknown[] = [];
  await world.sidecar.pubsub.subscribe(customers, (name) => calls.push(name));
  await world.sidecar.pubsub.publish(customers, 'known');
  const problem = await refusal(world.sidecar.pubsub.publish(customers, 'other'));
  expect(problem?.message).toBe('the data for topic "customers" does not fit the schema: unknown customer');
  await world.clock.settled();
  expect(calls).toEqual(['known']);
});

test('retries when the schema itself fails, as it may on a database', async () => {
  await using world = await shop().start();
  let failures = 1;
  // By hand: zod calls an asynchronous check twice, and leaves the rejection of the first call unhandled.
  const validate = async (value: unknown): Promise<{ readonly value: unknown }> => {
    if (failures-- > 0) throw new Error('the database is down');
    return { value };
  };
  const schema: StandardSchema = { '~standard': { version: 1, vendor: 'insidecar', validate } };
  const calls: unknown[] = [];
  await world.sidecar.pubsub.subscribe(defineTopic('customers', { schema }), (name) => calls.push(name));
  await world.sidecar.pubsub.publish('pubsub', 'customers', 'Ada');
  await world.pass('1s');
  expect(calls).toEqual(['Ada']);
  expect(world.emitted('messageRetrying')).toMatchObject([{ reason: 'the database is down' }]);
});

test('lists five problems, and counts the rest', async () => {
  await using world = await shop().start();
  const lines = defineTopic('lines', { schema: z.object({ lines: z.array(z.number()) }) });
  const problem = await refusal(world.sidecar.pubsub.publish(lines, { lines: Array(8).fill('x') as number[] }));
  expect(problem?.message).toMatch(/schema: lines\[0\]: .+; lines\[4\]: [^;]+; and 3 more$/);
});

test('a bulk is published as a whole or not at all, as to the schema', async () => {
  await using world = await shop().start();
  const orders = defineTopic('orders', { schema: z.object({ id: z.number() }) });
  const calls: unknown[] = [];
  await world.sidecar.pubsub.subscribe(orders, ({ id }) => calls.push(id));
  const entry = (id: unknown): never => ({ entryId: String(id), event: { id } }) as never;
  const problem = await refusal(world.sidecar.pubsub.publishBulk(orders, [entry(1), entry('two')]));
  expect(problem).toMatchObject({ code: 'ERR_INVALID_DATA', message: expect.stringContaining('schema: id: ') });
  await world.sidecar.pubsub.publishBulk(orders, [entry(1), entry(2)]);
  await world.clock.settled();
  expect(calls).toEqual([1, 2]);
});

describe('the component of a topic', () => {
  test('is the one that it names', async () => {
    await using world = await shop('a', 'b').start();
    const orders = defineTopic<number>('orders', { pubsub: 'b' });
    const calls: unknown[] = [];
    await world.sidecar.pubsub.subscribe('b', 'orders', ({ data }) => void calls.push(data));
    await world.sidecar.pubsub.publish(orders, 1);
    await world.clock.settled();
    expect(calls).toEqual([1]);
  });

  test.each([
    [
      ['a', 'b'],
      'topic "orders" names no pub/sub component and there are several, a, b: expected defineTopic("orders", { pubsub: … }) with one of them',
    ],
    [[], 'topic "orders" cannot be used: there is no pub/sub component'],
  ])('must be given if there is not exactly one: %j', async (names, message) => {
    await using world = await new TestSidecar({ components: names.map((name) => memoryPubSub(name)) }).start();
    const orders = defineTopic<number>('orders');
    const problem = { code: 'ERR_INVALID_ARGUMENT', message };
    expect(await refusal(world.sidecar.pubsub.publish(orders, 1))).toEqual(problem);
    expect(await refusal(world.sidecar.pubsub.subscribe(orders, () => undefined))).toEqual(problem);
  });

  test('is looked up like any other', async () => {
    await using world = await shop('a').start();
    const orders = defineTopic<number>('orders', { pubsub: 'b' });
    expect(await refusal(world.sidecar.pubsub.publish(orders, 1))).toMatchObject({ code: 'ERR_PUBSUB_NOT_FOUND' });
  });
});

test.each<[string, () => unknown, string]>([
  ['no name', () => defineTopic(''), 'the name of a topic is "": expected a text that is not empty'],
  [
    'an unknown option',
    () => defineTopic('orders', { pubsubName: 'a' } as never),
    'options of topic "orders": unknown field "pubsubName": expected schema, pubsub',
  ],
  [
    'a schema that is none',
    () => defineTopic('orders', { schema: { type: 'object' } as never }),
    'schema in options of topic "orders" is an object: expected a schema of a library with Standard Schema, such as zod 3.24, valibot 1 or arktype 2',
  ],
])('defineTopic refuses %s', (_, define, message) => {
  expect(define).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT', message }));
});

test('an object that is no topic is refused', async () => {
  await using world = await shop().start();
  const message = expect.stringMatching(/^the topic of publish is .+: expected what defineTopic returns/);
  expect(await refusal(world.sidecar.pubsub.publish({ name: 'orders' } as never, 1 as never))).toMatchObject({
    message,
  });
});

describe('types', () => {
  const orders = defineTopic('orders', { schema: SCHEMAS[0]?.[1] });

  test('a topic has the types of its schema, or the one that is given', () => {
    expectTypeOf(orders).toEqualTypeOf<TopicDefinition<{ id: number; at: string }, Placed>>();
    expectTypeOf(defineTopic<Placed>('orders')).toEqualTypeOf<
      TopicDefinition<Placed, { readonly id: number; readonly at: string }>
    >();
    expectTypeOf(defineTopic('orders')).toEqualTypeOf<TopicDefinition<unknown, unknown>>();
    expectTypeOf(defineTopic('o', { schema: z.object({ n: z.string() }) })).toExtend<TopicDefinition<{ n: string }>>();
    expectTypeOf(defineTopic('o', { schema: v.object({ n: v.string() }) })).toExtend<TopicDefinition<{ n: string }>>();
    expectTypeOf(defineTopic('o', { schema: type({ n: 'string' }) })).toExtend<TopicDefinition<{ n: string }>>();
  });

  test('publishers give the input, functions get the output', () => {
    const { pubsub } = shop().sidecar;
    const typed = (): unknown[] => [
      pubsub.publish(orders, { id: 1, at: '' }),
      // @ts-expect-error: not a number
      pubsub.publish(orders, { id: 'one', at: '' }),
      // @ts-expect-error: a field is missing
      pubsub.publish(orders, { id: 1 }),
      // @ts-expect-error: not a number
      pubsub.publishBulk(orders, [{ entryId: '1', event: { id: 'one', at: '' } }]),
      pubsub.subscribe(orders, (order, { event, signal }) => {
        expectTypeOf(order).toEqualTypeOf<Placed>();
        expectTypeOf(event.data).toEqualTypeOf<unknown>();
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      }),
      pubsub.subscribe(orders, async () => 'DROP'),
      pubsub.subscribe(orders, async ({ id }) => (id > 0 ? 'RETRY' : undefined)),
      pubsub.subscribe('pubsub', 'orders', async () => 'DROP'),
    ];
    expect(typed).toBeTypeOf('function');
  });
});
