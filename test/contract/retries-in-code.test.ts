/** `retry` of subscriptions in code and in the options: its times, its limits, and what it refuses. */
import { describe, expect, test } from 'vitest';
import { memoryPubSub, type RetryOptions, Sidecar } from '../../src/index.ts';
import { startWorld } from '../support/world.ts';

/** The seconds of the deliveries of one message that always fails, within a time; and what became of it. */
async function deliveriesOf(
  retry: RetryOptions,
  within: '1m' | '1d',
  { deadLetterTopic = '', error = new Error('busy') }: { deadLetterTopic?: string; error?: Error } = {},
): Promise<{ readonly seconds: readonly number[]; readonly deadLetters: readonly unknown[] }> {
  await using world = await startWorld({ discovery: [] });
  const begin = world.clock.now();
  const seconds: number[] = [];
  const handler = (): never => {
    seconds.push((world.clock.now() - begin) / 1_000);
    throw error;
  };
  const dead = deadLetterTopic === '' ? {} : { deadLetterTopic };
  await world.sidecar.pubsub.subscribe('pubsub', 'orders', handler, { retry: { jitter: 0, ...retry }, ...dead });
  await world.sidecar.pubsub.publish('pubsub', 'orders', 1);
  await world.clock.advance(within);
  return { seconds, deadLetters: world.emitted('messageDeadLettered') };
}

describe('the times of retries', () => {
  test.each<[what: string, retry: RetryOptions, seconds: readonly number[]]>([
    ['a delay in words, doubled', { maxRetries: 3, delay: '1s' }, [0, 1, 3, 7]],
    ['a factor', { maxRetries: 3, delay: '1s', factor: 3 }, [0, 1, 4, 13]],
    ['a constant delay', { maxRetries: 3, delay: 'PT0.5S', factor: 1 }, [0, 0.5, 1, 1.5]],
    ['a longest delay', { maxRetries: 4, delay: 1_000, maxDelay: '2s' }, [0, 1, 3, 5, 7]],
    ['no retry', { maxRetries: 0 }, [0]],
  ])('%s', async (_what, retry, seconds) => {
    expect((await deliveriesOf(retry, '1m')).seconds).toEqual(seconds);
  });

  test('a delay that is longer than the default limit is kept', async () => {
    expect((await deliveriesOf({ delay: '1h' }, '1d')).seconds.slice(0, 4)).toEqual([0, 3_600, 7_200, 10_800]);
  });

  test('jitter shortens delays only', async () => {
    const { seconds } = await deliveriesOf({ maxRetries: 20, delay: '1s', factor: 1, jitter: 0.5 }, '1m');
    const delays = seconds.slice(1).map((at, index) => at - (seconds[index] ?? 0));
    expect(delays).toHaveLength(20);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0.5);
    expect(Math.max(...delays)).toBeLessThanOrEqual(1);
    expect(new Set(delays).size).toBeGreaterThan(10);
  });
});

test('unlimited retries go on with a dead-letter topic, where three are the default', async () => {
  const options = { deadLetterTopic: 'dead' };
  const none = await deliveriesOf({ delay: '1s', factor: 1 }, '1m', options);
  expect([none.seconds.length, none.deadLetters.length]).toEqual([4, 1]);
  const unlimited = await deliveriesOf({ delay: '1s', factor: 1, maxRetries: 'unlimited' }, '1m', options);
  expect([unlimited.seconds.length, unlimited.deadLetters.length]).toEqual([61, 0]);
});

describe('retryIf', () => {
  const options = { deadLetterTopic: 'dead', error: new RangeError('no such order') };

  test('that refuses makes a dead letter at once, with the reason and the error', async () => {
    const seen: unknown[] = [];
    const retryIf = (error: unknown): boolean => seen.push(error) === 0;
    const { seconds, deadLetters } = await deliveriesOf({ retryIf }, '1m', options);
    expect(seconds).toEqual([0]);
    expect(seen).toEqual([options.error]);
    const reason = 'no such order, which retryIf refuses to retry';
    expect(deadLetters).toMatchObject([{ reason, error: options.error }]);
  });

  test('that agrees changes nothing, and so does one that throws', async () => {
    const agrees = await deliveriesOf({ maxRetries: 1, retryIf: () => true }, '1m', options);
    expect([agrees.seconds.length, agrees.deadLetters.length]).toEqual([2, 1]);
    const retryIf = (): never => {
      throw new Error('broken');
    };
    const broken = await deliveriesOf({ maxRetries: 1, retryIf }, '1m', options);
    expect([broken.seconds.length, broken.deadLetters.length]).toEqual([2, 1]);
  });

  test('of a route gets an error with the status', async () => {
    const seen: string[] = [];
    const retryIf = (error: unknown): boolean => seen.push(String(error)) === 0;
    const route = { pubsubName: 'pubsub', topic: 'orders', route: '/orders', retry: { retryIf } };
    await using world = await startWorld({ subscriptions: [route], discovery: [], answer: () => ({ status: 503 }) });
    await world.sidecar.pubsub.publish('pubsub', 'orders', 1);
    await world.clock.advance('1m');
    expect(seen).toEqual(['Error: the application answered 503']);
    expect(world.emitted('messageDropped')).toHaveLength(1);
  });
});

const MAX_RETRIES = 'a whole number of 0 or more, or "unlimited"';

describe('wrong retries are refused', () => {
  const wrong: [retry: object, problem: string][] = [
    [{ maxRetries: Number.POSITIVE_INFINITY }, `must be ${MAX_RETRIES}: actual is Infinity`],
    [{ maxRetries: -1 }, `must be ${MAX_RETRIES}: actual is -1`],
    [{ maxRetries: 'forever' }, `must be ${MAX_RETRIES}: actual is "forever"`],
    [{ factor: 0.5 }, 'must be a number of 1 or more: actual is 0.5'],
    [{ jitter: 2 }, 'must be a number from 0 to 1: actual is 2'],
    [{ delay: '5 s' }, 'must be a duration'],
    [{ maxDelay: -1 }, 'must be a duration'],
    [{ retryIf: true }, 'must be a function: actual is true'],
  ];

  test.each(wrong)('in the options: %j', (retry, problem) => {
    const subscription = { pubsubName: 'pubsub', topic: 'orders', route: '/orders', retry };
    const make = (): Sidecar =>
      new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')], subscriptions: [subscription] });
    const [name] = Object.keys(retry);
    expect(make).toThrow(`options.subscriptions.0.retry.${name} ${problem}`);
  });

  test.each(wrong)('of subscribe: %j', async (retry, problem) => {
    await using sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')] });
    const [name] = Object.keys(retry);
    const [, expected = ''] = /^must be (.*?)(?:: actual.*)?$/.exec(problem) ?? [];
    await expect(sidecar.pubsub.subscribe('pubsub', 'orders', () => undefined, { retry })).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message: expect.stringMatching(new RegExp(`^options\\.retry\\.${name} is .*: expected ${expected}`)),
    });
  });
});
