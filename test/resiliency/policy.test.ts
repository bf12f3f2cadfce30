import { describe, expect, test } from 'vitest';
import { PolicyError } from '../../src/resiliency/policy-error.ts';
import { CancelSource, type CancelToken, NEVER } from '../../src/util/cancel-token.ts';
import { make, policyOf, runStatuses } from '../support/resiliency.ts';

describe('retries', () => {
  test('are made until one succeeds', async () => {
    const made = policyOf({ retry: { duration: '1s' } });
    expect(await runStatuses(made, [503, new Error('refused'), 200])).toEqual({
      end: 200,
      attemptsAt: [0, 1_000, 2_000],
    });
  });

  test.each<[maxRetries: number, attempts: number]>([
    [0, 1],
    [1, 2],
    [4, 5],
  ])('maxRetries %d makes %d attempts, and the last answer is the result', async (maxRetries, attempts) => {
    const made = policyOf({ retry: { duration: '1s', maxRetries } });
    const statuses = [501, 502, 503, 504, 505, 506];
    const { end, attemptsAt } = await runStatuses(made, statuses);
    expect(attemptsAt).toHaveLength(attempts);
    expect(end).toBe(statuses[attempts - 1]);
    expect(made.policy.mayRetry).toBe(maxRetries > 0);
  });

  test('the last error is the result as well', async () => {
    const made = policyOf({ retry: { duration: '1s', maxRetries: 1 } });
    expect((await runStatuses(made, [500, new Error('refused')])).end).toBe('refused');
  });

  test('a status that does not match is final', async () => {
    const made = policyOf({ retry: { duration: '1s', matching: { httpStatusCodes: '500-599' } } });
    expect(await runStatuses(made, [500, 404])).toEqual({ end: 404, attemptsAt: [0, 1_000] });
  });

  test('end when the caller gives up during the delay', async () => {
    const made = policyOf({ retry: { duration: '5s' } });
    const caller = new CancelSource();
    made.clock.setTimeout(() => caller.abort(new Error('the caller has gone')), 7_000);
    const { end, attemptsAt } = await runStatuses(made, [500], { cancelToken: caller });
    expect(end).toBe('the caller has gone');
    expect(attemptsAt).toEqual([0, 5_000]);
    expect(made.clock.pendingTimers).toBe(0);
  });

  test('are not made for a caller who has gone during the attempt', async () => {
    const { policy } = policyOf({ retry: { duration: '1s' } });
    const caller = new CancelSource();
    const attempts: number[] = [];
    const run = policy.run(
      caller,
      async (_token, attempt) => {
        attempts.push(attempt);
        caller.abort(new Error('gone'));
        throw new Error('broken off');
      },
      () => 'retry',
    );
    await expect(run).rejects.toThrow('broken off');
    expect(attempts).toEqual([1]);
  });
});

describe('a time-out', () => {
  test('ends an attempt that takes longer, naming the time, and aborts it', async () => {
    const { policy, clock } = policyOf({ timeout: '5s' });
    let reason: unknown;
    const run = policy.run(
      NEVER,
      (cancelToken) => {
        cancelToken.onAbort(() => {
          reason = cancelToken.reason;
        });
        return new Promise<never>(() => undefined);
      },
      () => 'retry',
    );
    const ended = expect(run).rejects.toThrow('no result within 5000 ms');
    await clock.advance(4_999);
    expect(reason).toBeUndefined();
    await clock.advance(1);
    await ended;
    expect(reason).toEqual(new PolicyError('no result within 5000 ms'));
  });

  test('holds for each attempt anew', async () => {
    const { policy, clock } = policyOf({ timeout: '1s', retry: { duration: '10s', maxRetries: 2 } });
    const startedAt = clock.now();
    const at: number[] = [];
    const run = policy.run(
      NEVER,
      () => {
        at.push(clock.now() - startedAt);
        return new Promise<never>(() => undefined);
      },
      () => 'retry',
    );
    const ended = expect(run).rejects.toThrow('no result within 1000 ms');
    await clock.advance('1m');
    await ended;
    expect(at).toEqual([0, 11_000, 22_000]);
  });

  test('leaves no timer behind an attempt that was in time', async () => {
    const { policy, clock } = policyOf({ timeout: '5s' });
    expect(
      await policy.run(
        NEVER,
        async () => 'done',
        () => 'success',
      ),
    ).toBe('done');
    await expect(
      policy.run(
        NEVER,
        () => Promise.reject(new Error('failed')),
        () => 'failure',
      ),
    ).rejects.toThrow('failed');
    expect(clock.pendingTimers).toBe(0);
  });

  test('the caller’s going reaches the attempt', async () => {
    const { policy } = policyOf({ timeout: '5s' });
    const caller = new CancelSource();
    const run = policy.run(
      caller,
      (cancelToken) => new Promise((_, reject) => cancelToken.onAbort(() => reject(cancelToken.reason))),
      () => 'failure',
    );
    caller.abort(new Error('gone'));
    await expect(run).rejects.toThrow('gone');
  });

  test.each([
    ['worked', () => Promise.resolve('done')],
    ['failed', () => Promise.reject(new Error('failed'))],
  ])('leaves no listener with a caller that lives on, when the attempt %s', async (_, attempt) => {
    const { policy } = policyOf({ timeout: '5s' });
    let listeners = 0;
    const caller: CancelToken = {
      aborted: false,
      reason: undefined,
      onAbort: () => {
        listeners++;
        return () => void listeners--;
      },
    };
    await policy.run(caller, attempt, () => 'failure').catch(() => undefined);
    expect(listeners).toBe(0);
  });

  test('a caller who is gone already aborts the attempt from the beginning', async () => {
    const { policy } = policyOf({ timeout: '5s' });
    const caller = new CancelSource();
    caller.abort(new Error('gone'));
    const run = policy.run(
      caller,
      async (cancelToken) => cancelToken.aborted,
      () => 'success',
    );
    expect(await run).toBe(true);
  });
});

describe('a circuit breaker', () => {
  const breaker = { trip: 'consecutiveFailures >= 3', timeout: '60s' };

  test('lets nothing through while it is open, and tries again after its time', async () => {
    const made = policyOf({ breaker });
    for (const status of [500, new Error('refused'), 500]) await runStatuses(made, [status], { forMs: 0 });
    expect(await runStatuses(made, [200], { forMs: 59_999 })).toEqual({
      end: 'circuit breaker is open',
      attemptsAt: [],
    });
    expect(await runStatuses(made, [200], { forMs: 1 })).toMatchObject({ end: 'circuit breaker is open' });
    expect(await runStatuses(made, [200], { forMs: 0 })).toEqual({ end: 200, attemptsAt: [0] });
    expect(made.changes).toEqual([
      { targetType: 'app', target: 'b', endpoint: 'b:method', policy: 'c', from: 'closed', to: 'open' },
      { targetType: 'app', target: 'b', endpoint: 'b:method', policy: 'c', from: 'open', to: 'half-open' },
      { targetType: 'app', target: 'b', endpoint: 'b:method', policy: 'c', from: 'half-open', to: 'closed' },
    ]);
    expect(made.logger.at('warn').map(({ message }) => message)).toEqual(['circuit breaker is open']);
  });

  test('opens again when the attempt that it lets through fails', async () => {
    const made = policyOf({ breaker });
    for (let nth = 0; nth < 3; nth++) await runStatuses(made, [500], { forMs: 0 });
    await made.clock.advance('60s');
    expect((await runStatuses(made, [500], { forMs: 0 })).end).toBe(500);
    expect((await runStatuses(made, [500], { forMs: 0 })).end).toBe('circuit breaker is open');
  });

  test('lets no more than maxRequests through when it is half-open', async () => {
    const { policy, clock } = policyOf({ breaker: { ...breaker, maxRequests: 2 } });
    for (let nth = 0; nth < 3; nth++)
      await policy.run(
        NEVER,
        async () => 500,
        () => 'failure',
      );
    await clock.advance('60s');
    const ends: (() => void)[] = [];
    const begin = (): Promise<void> =>
      policy.run(
        NEVER,
        () => new Promise<void>((end) => ends.push(end)),
        () => 'success',
      );
    const running = [begin(), begin()];
    await expect(begin()).rejects.toThrow('too many requests');
    for (const end of ends) end();
    await Promise.all(running);
    expect(policy.breaker?.state).toBe('closed');
  });

  test('counts every attempt, a time-out as a failure', async () => {
    const { policy, clock } = policyOf({ timeout: '1s', retry: { duration: 0 }, breaker });
    const run = policy.run(
      NEVER,
      () => new Promise<never>(() => undefined),
      () => 'retry',
    );
    const ended = expect(run).rejects.toThrow('no result within 1000 ms');
    await clock.advance('10s');
    await ended;
    expect(policy.breaker?.state).toBe('open');
  });

  test('ends retries that it would refuse at once, with what the last attempt gave', async () => {
    const made = policyOf({ retry: { duration: '1s' }, breaker });
    expect(await runStatuses(made, [501, 502, 503], { forMs: 5_000 })).toEqual({
      end: 503,
      attemptsAt: [0, 1_000, 2_000],
    });
  });

  test('lets retries go on whose delay is longer than its time', async () => {
    const made = policyOf({ retry: { duration: '2m' }, breaker });
    expect((await runStatuses(made, [500, 500, 500, 200])).end).toBe(200);
  });

  test('does not count what the caller gave up, and does not wait for it', async () => {
    const { policy, clock } = policyOf({ breaker: { trip: 'requests >= 1' } });
    await policy.run(
      NEVER,
      async () => 500,
      () => 'failure',
    );
    await clock.advance('60s');
    const caller = new CancelSource();
    const run = policy.run(
      caller,
      async () => {
        caller.abort(new Error('gone'));
        throw new Error('broken off');
      },
      () => 'failure',
    );
    await expect(run).rejects.toThrow('broken off');
    expect(policy.breaker?.state).toBe('half-open');
    expect(policy.breaker?.isFree).toBe(true);
  });

  test('gets its leave back when the judge fails', async () => {
    const { policy } = policyOf({ breaker });
    const judge = (): never => {
      throw new Error('no verdict');
    };
    for (let nth = 0; nth < 3; nth++)
      await expect(policy.run(NEVER, async () => 1, judge)).rejects.toThrow('no verdict');
    expect(policy.breaker?.state).toBe('open');
  });

  test('is one for each endpoint of a target', async () => {
    const { resiliency } = make({
      policies: { circuitBreakers: { c: { trip: 'totalFailures >= 1' } } },
      targets: { apps: { b: { circuitBreaker: 'c' } } },
    });
    const bad = resiliency.forApp('b', 'b:bad');
    await bad?.run(
      NEVER,
      async () => 500,
      () => 'failure',
    );
    expect(resiliency.forApp('b', 'b:bad')?.breaker?.state).toBe('open');
    expect(resiliency.forApp('b', 'b:good')?.breaker?.state).toBe('closed');
  });

  test('is forgotten when circuitBreakerCacheSize others have been used since', async () => {
    const { resiliency } = make({
      policies: { circuitBreakers: { c: { trip: 'totalFailures >= 1' } } },
      targets: { apps: { b: { circuitBreaker: 'c', circuitBreakerCacheSize: 2 } } },
    });
    const stateOf = (endpoint: string): string | undefined => resiliency.forApp('b', endpoint)?.breaker?.state;
    for (const endpoint of ['one', 'two'])
      await resiliency.forApp('b', endpoint)?.run(
        NEVER,
        async () => 500,
        () => 'failure',
      );
    expect(stateOf('one')).toBe('open');
    expect(stateOf('three')).toBe('closed');
    expect(stateOf('one')).toBe('open');
    expect(stateOf('two')).toBe('closed');
  });

  test('of a component stays, one for each direction', () => {
    const { resiliency } = make({ policies: { circuitBreakers: { DefaultCircuitBreakerPolicy: {} } } });
    const inbound = resiliency.forComponent('pubsub', 'inbound');
    expect(resiliency.forComponent('pubsub', 'inbound')).toBe(inbound);
    expect(resiliency.forComponent('pubsub', 'outbound')?.breaker).not.toBe(inbound?.breaker);
  });

  test('stays closed when its trip cannot be evaluated, and says so', async () => {
    const made = policyOf({ breaker: { trip: 'requests / totalSuccesses > 1' } });
    await runStatuses(made, [500], { forMs: 0 });
    expect(made.policy.breaker?.state).toBe('closed');
    expect(made.logger.at('error')).toMatchObject([{ details: { policy: 'c' } }]);
  });
});
