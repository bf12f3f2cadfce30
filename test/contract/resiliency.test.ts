import { describe, expect, test } from 'vitest';
import { type Message, memoryPubSub, type ResiliencySpec, type Subscription } from '../../src/index.ts';
import type { PublishFailure, PubSubDefinition } from '../../src/kit/index.ts';
import { type Answering, NEVER } from '../support/app.ts';
import { WAYS } from '../support/served.ts';
import { startWorld, type World, type WorldOptions } from '../support/world.ts';

type Policies = NonNullable<ResiliencySpec['policies']>;
interface Given {
  readonly timeout?: string;
  readonly retry?: NonNullable<Policies['retries']>[string];
  readonly breaker?: NonNullable<Policies['circuitBreakers']>[string];
}

/** One direction of the component `pubsub` with these policies. */
function spec(direction: 'inbound' | 'outbound', { timeout, retry, breaker }: Given): ResiliencySpec {
  return {
    policies: {
      timeouts: timeout === undefined ? {} : { t: timeout },
      retries: retry === undefined ? {} : { r: retry },
      circuitBreakers: breaker === undefined ? {} : { c: breaker },
    },
    targets: {
      components: {
        pubsub: {
          [direction]: {
            ...(timeout === undefined ? {} : { timeout: 't' }),
            ...(retry === undefined ? {} : { retry: 'r' }),
            ...(breaker === undefined ? {} : { circuitBreaker: 'c' }),
          },
        },
      },
    },
  };
}

const inboundWorld = (given: Given, options: WorldOptions = {}): Promise<World> =>
  startWorld({ resiliency: spec('inbound', given), ...options });

const subscription = (more: object = {}): readonly unknown[] => [
  { pubsubname: 'pubsub', topic: 'orders', route: '/orders', ...more },
];

/** When each delivery came, since the beginning. */
function timesOf(world: World): number[] {
  const times: number[] = [];
  const startedAt = world.clock.now();
  const { answer } = world.app;
  world.app.answer = (received, nth) => {
    times.push(world.clock.now() - startedAt);
    return answer(received, nth);
  };
  return times;
}

describe.each(WAYS)('inbound policies, application via %s', (via) => {
  test('an inbound retry policy says when and how often a message is delivered again', async () => {
    await using world = await inboundWorld(
      { retry: { duration: '10ms', maxRetries: 4 } },
      { via, answer: () => ({ status: 500 }) },
    );
    const times = timesOf(world);
    await world.publish('x');
    await world.pass('1m');
    expect(times).toEqual([0, 10, 20, 30, 40]);
    expect(world.emitted('messageDropped')).toMatchObject([{ attempt: 5 }]);
    expect(world.logger.at('error').map(({ message }) => message)).toEqual([
      'message dropped: its retries are used up and there is no dead-letter topic',
    ]);
  });

  test('a status that the policy does not match is not retried', async () => {
    const discovery = subscription({ deadLetterTopic: 'dead' });
    await using world = await inboundWorld(
      { retry: { duration: '1s', matching: { httpStatusCodes: '429,500-599' } } },
      { via, discovery, answer: (_, nth) => ({ status: nth === 1 ? 503 : 409 }) },
    );
    await world.publish('x');
    await world.pass('1m');
    expect(world.deliveries).toHaveLength(2);
    expect(world.emitted('messageDeadLettered')).toMatchObject([
      { attempt: 2, reason: 'the application answered 409, which the retry policy does not match' },
    ]);
  });

  test('an inbound time-out holds instead of deliveryTimeout', async () => {
    await using world = await inboundWorld(
      { timeout: '2s' },
      { via, answer: (_, nth) => (nth === 1 ? NEVER : undefined) },
    );
    await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' });
    await world.received(1);
    await world.clock.advance(1_999);
    expect(world.emitted('messageRetrying')).toEqual([]);
    await world.pass(1);
    expect(world.emitted('messageRetrying')).toMatchObject([{ reason: 'no answer within 2000 ms' }]);
    await world.pass('1s');
    expect(world.emitted('messageDelivered')).toMatchObject([{ attempt: 2 }]);
  });
});

describe('an inbound retry policy', () => {
  const failing: Answering = () => ({ status: 500 });

  test('without a limit holds for messages with a dead-letter topic, too', async () => {
    const discovery = subscription({ deadLetterTopic: 'dead' });
    await using world = await inboundWorld({ retry: { duration: '1s' } }, { discovery, answer: failing });
    await world.publish('x');
    await world.pass('10s');
    expect(world.deliveries).toHaveLength(11);
    expect(world.emitted('messageDeadLettered')).toEqual([]);
  });

  test('with a limit dead-letters what has used it up', async () => {
    const discovery = subscription({ deadLetterTopic: 'dead' });
    await using world = await inboundWorld(
      { retry: { duration: '1s', maxRetries: 1 } },
      { discovery, answer: failing },
    );
    await world.publish('x');
    await world.pass('10s');
    expect(world.emitted('messageDeadLettered')).toMatchObject([{ attempt: 2, deadLetterTopic: 'dead' }]);
  });

  test('leaves a subscription alone that says itself how it is retried', async () => {
    const discovery = subscription({ retry: { maxRetries: 0 } });
    await using world = await inboundWorld({ retry: { duration: '1s' } }, { discovery, answer: failing });
    await world.publish('x');
    await world.pass('10s');
    expect(world.emitted('messageDropped')).toMatchObject([{ attempt: 1 }]);
  });

  test('holds for functions in code', async () => {
    await using world = await inboundWorld({ retry: { duration: '5s', maxRetries: 1 }, timeout: '1s' });
    const attempts: number[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', 'inner', async (_event, { attempt, signal }) => {
      attempts.push(attempt);
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      // It takes its time, and the next attempt waits for it.
      await new Promise<void>((resolve) => world.clock.setTimeout(resolve, 2_000));
      signal.throwIfAborted();
    });
    await world.send('POST', '/v1.0/publish/pubsub/inner', { body: 'x' });
    await world.clock.advance(7_999);
    expect(attempts).toEqual([1]);
    await world.clock.advance(1);
    expect(attempts).toEqual([1, 2]);
    await world.pass('3s');
    expect(world.emitted('messageDropped')).toMatchObject([{ reason: 'no result within 1000 ms' }]);
  });

  test('holds for bulk deliveries', async () => {
    const discovery = subscription({ bulkSubscribe: { enabled: true, maxMessagesCount: 2 } });
    await using world = await inboundWorld(
      { retry: { duration: '1s', matching: { httpStatusCodes: '500' } } },
      { discovery, answer: (_, nth) => ({ status: nth === 1 ? 500 : 400 }) },
    );
    await world.publish('x');
    await world.publish('y');
    await world.pass('1m');
    expect(world.deliveries.map(({ entries }) => entries.length)).toEqual([2, 2]);
    expect(world.emitted('messageDropped')).toHaveLength(2);
  });

  test('is that of the component, not of another', async () => {
    const components = [memoryPubSub('pubsub'), memoryPubSub('other')];
    const discovery = [...subscription(), { pubsubname: 'other', topic: 'orders', route: '/other' }];
    await using world = await inboundWorld(
      { retry: { duration: '1h' } },
      { components, discovery, answer: (_, nth) => (nth === 1 ? { status: 500 } : undefined) },
    );
    for (const name of ['pubsub', 'other']) await world.send('POST', `/v1.0/publish/${name}/orders`, { body: 'x' });
    await world.pass('1m');
    expect([world.at('/orders').length, world.at('/other').length]).toEqual([1, 2]);
  });
});

describe('an inbound circuit breaker', () => {
  const breaker = { trip: 'consecutiveFailures >= 2', timeout: '60s' };
  /** Fails as long as it is told to. */
  const moody = () => {
    const mood = { isBad: true };
    const answer: Answering = () => (mood.isBad ? { status: 500 } : undefined);
    return { mood, answer };
  };

  test('that is open pauses delivery, and no attempt is counted', async () => {
    const { mood, answer } = moody();
    await using world = await inboundWorld({ breaker, retry: { duration: '1s' } }, { answer });
    await world.publish('1');
    await world.pass('1s');
    expect(world.emitted('circuitBreakerChanged')).toEqual([
      { targetType: 'component', target: 'pubsub', endpoint: 'inbound', policy: 'c', from: 'closed', to: 'open' },
    ]);
    for (const body of ['2', '3', '4']) await world.publish(body);
    await world.pass(59_999);
    expect(world.deliveries).toHaveLength(2);
    mood.isBad = false;
    await world.pass(1);
    expect(world.deliveries.slice(2).map(({ data }) => data)).toEqual(['2', '3', '4', '1']);
    expect(world.emitted('messageDelivered').map(({ attempt }) => attempt)).toEqual([1, 1, 1, 3]);
    expect(world.emitted('circuitBreakerChanged').map(({ to }) => to)).toEqual(['open', 'half-open', 'closed']);
  });

  test('that is half-open tries one message, and stays open for the others when that fails', async () => {
    const { answer } = moody();
    await using world = await inboundWorld({ breaker, retry: { duration: '1s' } }, { answer });
    for (const body of ['1', '2', '3']) await world.publish(body);
    await world.pass('30s');
    // Two were under way when it opened, or before.
    const before = world.deliveries.length;
    await world.pass('60s');
    expect(world.deliveries).toHaveLength(before + 1);
    await world.pass('60s');
    expect(world.deliveries).toHaveLength(before + 2);
  });

  test('holds for bulk deliveries, each batch as one', async () => {
    const { mood, answer } = moody();
    const discovery = subscription({ bulkSubscribe: { enabled: true, maxMessagesCount: 1 } });
    const bulk: Answering = (received, nth) =>
      answer(received, nth) ?? {
        body: { statuses: received.entries.map(({ entryId }) => ({ entryId, status: 'SUCCESS' })) },
      };
    await using world = await inboundWorld({ breaker, retry: { duration: '1s' } }, { discovery, answer: bulk });
    await world.publish('1');
    await world.pass('1s');
    await world.publish('2');
    await world.pass('30s');
    expect(world.deliveries).toHaveLength(2);
    mood.isBad = false;
    await world.pass('30s');
    expect(world.emitted('messageDelivered').map(({ attempt }) => attempt)).toEqual([1, 3]);
  });

  test('keeps the order of a subscription that asks for it', async () => {
    const { mood, answer } = moody();
    const discovery = subscription({ concurrency: 1 });
    await using world = await inboundWorld({ breaker, retry: { duration: '1s' } }, { discovery, answer });
    for (const body of ['1', '2', '3']) await world.send('POST', '/v1.0/publish/pubsub/orders', { body });
    await world.pass('30s');
    mood.isBad = false;
    await world.pass('40s');
    expect(world.emitted('messageDelivered')).toHaveLength(3);
    expect(world.deliveries.map(({ data }) => data)).toEqual(['1', '1', '1', '2', '3']);
  });

  test('does not count what the application drops', async () => {
    await using world = await inboundWorld({ breaker }, { answer: () => ({ body: { status: 'DROP' } }) });
    for (const body of ['1', '2', '3']) await world.publish(body);
    expect(world.deliveries).toHaveLength(3);
    expect(world.emitted('circuitBreakerChanged')).toEqual([]);
  });

  test('a message that expires meanwhile is not delivered', async () => {
    const { mood, answer } = moody();
    await using world = await inboundWorld({ breaker, retry: { duration: '1s' } }, { answer });
    await world.publish('1');
    await world.pass('1s');
    await world.publish('late', { query: 'metadata.ttlInSeconds=10' });
    mood.isBad = false;
    await world.pass('60s');
    expect(world.emitted('messageDropped')).toMatchObject([{ reason: 'the message has expired' }]);
    expect(world.emitted('messageDelivered')).toHaveLength(1);
  });

  test('does not hold up a stop; what waits is delivered by another sidecar', async () => {
    const { answer } = moody();
    const components = [memoryPubSub('pubsub')];
    await using world = await inboundWorld({ breaker, retry: { duration: '1s' } }, { answer, components });
    await world.publish('1');
    await world.pass('1s');
    await world.publish('2');
    const before = world.clock.now();
    await world.sidecar.stop();
    expect(world.clock.now()).toBe(before);
    await using other = await startWorld({ components });
    await other.pass('10s');
    expect(other.deliveries.map(({ data }) => data).sort()).toEqual(['1', '2']);
  });

  test('that is open costs what waits no attempt, however often its subscription is closed', async () => {
    await using world = await inboundWorld(
      { breaker: { trip: 'consecutiveFailures >= 1', timeout: '10s' }, retry: { duration: '1h' } },
      { discovery: [] },
    );
    const attempts: unknown[] = [];
    const subscribe = (): Promise<Subscription> =>
      world.sidecar.pubsub.subscribe('pubsub', 'orders', ({ data }, { attempt }) => {
        attempts.push([data, attempt]);
        throw new Error('not now');
      });
    let subscription = await subscribe();
    await world.publish('first');
    await world.publish('second');
    for (let time = 0; time < 4; time++) {
      await subscription.close();
      subscription = await subscribe();
    }
    await world.pass('15s');
    expect(attempts).toEqual([
      ['first', 1],
      ['second', 1],
    ]);
  });
});

/** What a component answers to publishes, one after the other; the last one stays. */
type Publishing = (messages: readonly Message[]) => Promise<readonly PublishFailure[]>;

/** A component in memory whose publishes are decided here; `undefined` lets one through. */
function decided(answers: readonly (Publishing | undefined)[]): {
  definition: PubSubDefinition;
  published: string[][];
} {
  const inner = memoryPubSub('pubsub');
  const published: string[][] = [];
  const definition: PubSubDefinition = {
    ...inner,
    async open(context) {
      const component = await inner.open(context);
      return {
        publish(messages) {
          published.push(messages.map(({ id }) => id));
          const answer = answers[Math.min(published.length, answers.length) - 1];
          return answer === undefined ? component.publish(messages) : answer(messages);
        },
        subscribe: (options) => component.subscribe(options),
        close: () => component.close(),
      };
    },
  };
  return { definition, published };
}

const refuses: Publishing = () => Promise.reject(new Error('the broker is away'));
const refusesFirst: Publishing = async () => [{ index: 0, error: new Error('the partition is away') }];

async function outboundWorld(
  given: Given,
  answers: readonly (Publishing | undefined)[],
  options: WorldOptions = {},
): Promise<{ world: World; published: string[][] } & AsyncDisposable> {
  const { definition, published } = decided(answers);
  const world = await startWorld({ resiliency: spec('outbound', given), components: [definition], ...options });
  return { world, published, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

/** Publishes in code; answers what has become of it. */
function publishing(world: World): { readonly end: () => string } {
  let end = 'still running';
  world.sidecar.pubsub.publish('pubsub', 'orders', 'x').then(
    () => {
      end = 'published';
    },
    (error: Error) => {
      end = error.message;
    },
  );
  return { end: () => end };
}

const FAILED = 'error when publishing to topic orders in pubsub pubsub: ';

describe('outbound policies', () => {
  test('a publish is tried again as the policy says, and answered when it has worked', async () => {
    await using made = await outboundWorld({ retry: { duration: '1s', maxRetries: 3 } }, [
      refuses,
      refusesFirst,
      undefined,
    ]);
    const { world, published } = made;
    const answer = world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' });
    while (published.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await world.pass('2s');
    expect((await answer).status).toBe(204);
    expect(published).toHaveLength(3);
    expect(world.emitted('messagePublished')).toHaveLength(1);
    expect(world.deliveries).toHaveLength(1);
  });

  test('a publish fails when the retries are used up', async () => {
    await using made = await outboundWorld({ retry: { duration: '1s', maxRetries: 2 } }, [refuses]);
    const publish = publishing(made.world);
    await made.world.pass('1m');
    expect([publish.end(), made.published.length]).toEqual([`${FAILED}the broker is away`, 3]);
  });

  test('a publish that takes too long fails, naming the time', async () => {
    await using made = await outboundWorld({ timeout: '3s' }, [() => new Promise(() => undefined)]);
    const publish = publishing(made.world);
    await made.world.clock.advance(2_999);
    expect(publish.end()).toBe('still running');
    await made.world.pass(1);
    expect(publish.end()).toBe(`${FAILED}no result within 3000 ms`);
  });

  test('an open breaker fails publishes at once', async () => {
    await using made = await outboundWorld({ breaker: { trip: 'totalFailures >= 1' } }, [refuses, undefined]);
    const { world, published } = made;
    expect((await world.publish('1')).status).toBe(500);
    const answer = await world.publish('2');
    expect([answer.status, answer.json]).toMatchObject([500, { message: `${FAILED}circuit breaker is open` }]);
    expect(published).toHaveLength(1);
    await world.pass('60s');
    expect((await world.publish('3')).status).toBe(204);
  });

  test('of a bulk publish only what failed is published again', async () => {
    await using made = await outboundWorld({ retry: { duration: '1s', maxRetries: 5 } }, [
      async () => [0, 2].map((index) => ({ index, error: new Error('away') })),
      async () => [{ index: 1, error: new Error('away') }],
      refuses,
      undefined,
    ]);
    const { world, published } = made;
    const entries = ['a', 'b', 'c', 'd'].map((entryId) => ({ entryId, event: entryId }));
    const bulk = world.sidecar.pubsub.publishBulk('pubsub', 'orders', entries);
    await world.pass('1m');
    await bulk;
    const [all = []] = published;
    const [a, , c] = all;
    expect(published.slice(1)).toEqual([[a, c], [c], [c]]);
    expect(world.emitted('messagePublished')).toHaveLength(4);
  });

  test('of a bulk publish what has failed for good is told, by the entries that it was', async () => {
    await using made = await outboundWorld({ retry: { duration: '1s', maxRetries: 1 } }, [
      async () => [1, 3].map((index) => ({ index, error: new Error('away') })),
      refuses,
    ]);
    const entries = ['a', 'b', 'c', 'd'].map((entryId) => ({ entryId, event: entryId }));
    const bulk = made.world.sidecar.pubsub.publishBulk('pubsub', 'orders', entries);
    const failed = expect(bulk).rejects.toMatchObject({
      failedEntries: [
        { entryId: 'b', error: 'the broker is away' },
        { entryId: 'd', error: 'the broker is away' },
      ],
    });
    await made.world.pass('1m');
    await failed;
  });

  test('an attempt that was too slow does not count for the next one', async () => {
    const late: ((failures: readonly PublishFailure[]) => void)[] = [];
    await using made = await outboundWorld({ timeout: '1s', retry: { duration: '1s', maxRetries: 1 } }, [
      () => new Promise((resolve) => late.push(resolve)),
      async () => {
        late[0]?.([]);
        await new Promise((resolve) => setImmediate(resolve));
        throw new Error('full');
      },
    ]);
    const entries = ['a', 'b'].map((entryId) => ({ entryId, event: entryId }));
    const bulk = made.world.sidecar.pubsub.publishBulk('pubsub', 'orders', entries);
    const failed = expect(bulk).rejects.toMatchObject({ failedEntries: [{ entryId: 'a' }, { entryId: 'b' }] });
    await made.world.pass('1m');
    await failed;
    expect(made.published.map((ids) => ids.length)).toEqual([2, 2]);
  });

  test('dead letters follow them', async () => {
    const discovery = subscription({ deadLetterTopic: 'dead', retry: { maxRetries: 0 } });
    await using made = await outboundWorld(
      { retry: { duration: '1s', maxRetries: 3 } },
      [undefined, refuses, undefined],
      {
        discovery,
        answer: () => ({ status: 500 }),
      },
    );
    await made.world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' });
    await made.world.pass('1s');
    expect(made.world.emitted('messageDeadLettered')).toHaveLength(1);
    expect(made.published).toHaveLength(3);
  });

  test('a stop ends retries', async () => {
    await using made = await outboundWorld({ retry: { duration: '1h' } }, [refuses]);
    const publish = publishing(made.world);
    await made.world.clock.settled();
    await made.world.sidecar.stop();
    await made.world.clock.settled();
    expect(publish.end()).toBe(`${FAILED}the sidecar is stopping`);
  });
});

describe('policies of an application that is invoked', () => {
  const INVOKE = '/v1.0/invoke/shop/method/pay';
  const invokedWorld = (resiliency: ResiliencySpec, answer: Answering): Promise<World> =>
    startWorld({ discovery: [], resiliency, answer });
  const defaults = (policies: ResiliencySpec['policies'] = {}): ResiliencySpec => ({ policies });

  test('a retry policy repeats what failed; the last answer is passed on as it is', async () => {
    const retries = { DefaultAppRetryPolicy: { duration: 0, maxRetries: 2 } };
    await using world = await invokedWorld(defaults({ retries }), (_, nth) => ({ status: 500 + nth, body: `${nth}` }));
    const answer = world.send('POST', INVOKE, { body: 'invoice' });
    await world.received(1);
    await world.pass(0);
    await world.received(2);
    await world.pass(0);
    expect(await answer).toMatchObject({ status: 503, text: '3' });
    expect(world.at('/pay').map(({ text }) => text)).toEqual(['invoice', 'invoice', 'invoice']);
  });

  test('an open breaker refuses at once, a method by itself, until its time is over', async () => {
    const circuitBreakers = { DefaultAppCircuitBreakerPolicy: { trip: 'consecutiveFailures >= 2' } };
    const isBad = { value: true };
    await using world = await invokedWorld(defaults({ circuitBreakers }), ({ path }) =>
      path === '/pay' && isBad.value ? { status: 500 } : undefined,
    );
    for (let nth = 0; nth < 2; nth++) await world.send('POST', INVOKE);
    const refused = await world.send('POST', INVOKE);
    expect([refused.status, refused.json]).toMatchObject([
      500,
      { errorCode: 'ERR_DIRECT_INVOKE', message: expect.stringContaining('circuit breaker is open') },
    ]);
    expect(world.at('/pay')).toHaveLength(2);
    expect((await world.send('POST', '/v1.0/invoke/shop/method/refund')).status).toBe(200);
    expect(world.emitted('circuitBreakerChanged')).toMatchObject([{ targetType: 'app', target: 'shop', to: 'open' }]);
    isBad.value = false;
    await world.pass('60s');
    expect((await world.send('POST', INVOKE)).status).toBe(200);
  });

  test('a time-out ends a call, naming the time', async () => {
    const timeouts = { t: '2s' };
    const resiliency = { policies: { timeouts }, targets: { apps: { shop: { timeout: 't' } } } };
    await using world = await invokedWorld(resiliency, () => NEVER);
    const answer = world.send('POST', INVOKE);
    await world.received(1);
    await world.clock.advance('2s');
    expect([(await answer).status, (await answer).json]).toMatchObject([
      500,
      { errorCode: 'ERR_DIRECT_INVOKE', message: expect.stringContaining('no result within 2000 ms') },
    ]);
  });
});

test('what is wrong with the option is told when the sidecar is made', async () => {
  await expect(
    startWorld({ resiliency: [{}, { targets: { components: { pubsub: { inbound: { retry: 'nope' } } } } }] }),
  ).rejects.toMatchObject({
    code: 'ERR_CONFIGURATION',
    message:
      'options.resiliency[1].targets.components.pubsub.inbound.retry is "nope": expected the name of a policy (there are none)',
  });
});

describe('health.breakers', () => {
  test('tells of every breaker in use where it stands, its state and until when it is open', async () => {
    const breaker = { trip: 'consecutiveFailures >= 2', timeout: '60s' };
    await using world = await inboundWorld({ breaker, retry: { duration: '1s' } }, { answer: () => ({ status: 500 }) });
    const { health } = world.sidecar;
    await world.publish('x');
    const place = { targetType: 'component', target: 'pubsub', endpoint: 'inbound', policy: 'c' };
    expect(health.breakers()).toEqual([{ ...place, state: 'closed', consecutiveFailures: 1 }]);
    await world.pass('1s');
    const openUntil = world.clock.now() + 60_000;
    expect(health.breakers()).toEqual([{ ...place, state: 'open', openUntil, consecutiveFailures: 0 }]);
  });

  test('is empty without policies', async () => {
    await using world = await startWorld();
    await world.publish('x');
    expect(world.sidecar.health.breakers()).toEqual([]);
  });

  test('has one for each method that is invoked', async () => {
    const resiliency = {
      policies: { circuitBreakers: { c: { trip: 'consecutiveFailures >= 1', timeout: '60s' } } },
      targets: { apps: { shop: { circuitBreaker: 'c' } } },
    };
    const answer: Answering = ({ path }) => ({ status: path === '/bad' ? 500 : 200 });
    await using world = await startWorld({ resiliency, answer });
    for (const method of ['good', 'bad']) await world.send('POST', `/v1.0/invoke/shop/method/${method}`);
    const states = world.sidecar.health
      .breakers()
      .map(({ target, endpoint, state }) => `${target} ${endpoint} ${state}`);
    expect(states.sort()).toEqual(['shop /bad open', 'shop /good closed']);
  });
});
