import { describe, expect, test } from 'vitest';
import type { ResiliencySpec } from '../../src/index.ts';
import { make, policyOf, runStatuses } from '../support/resiliency.ts';

describe('what a policy leaves out', () => {
  test('a retry policy is constant, 5 s, without limit', async () => {
    const made = policyOf({ retry: {} });
    expect(made.policy.retry?.maxRetries).toBe(Number.POSITIVE_INFINITY);
    const { end, attemptsAt } = await runStatuses(made, [500], { forMs: 22_000 });
    expect(end).toBe('still running');
    expect(attemptsAt).toEqual([0, 5_000, 10_000, 15_000, 20_000]);
  });

  test('an exponential one begins at 500 ms, grows by half, up to 60 s', async () => {
    const made = policyOf({ retry: { policy: 'exponential' } });
    const { attemptsAt } = await runStatuses(made, [500], { forMs: 600_000 });
    const delays = attemptsAt.slice(1).map((at, index) => at - (attemptsAt[index] ?? 0));
    expect(delays.slice(0, 4)).toEqual([500, 750, 1_125, 1_687.5]);
    expect(delays.at(-1)).toBe(60_000);
    expect(Math.max(...delays)).toBe(60_000);
  });

  test('an exponential one takes up to half of each delay away at random', async () => {
    const made = policyOf({ retry: { policy: 'exponential', maxRetries: 2 } }, 1);
    expect((await runStatuses(made, [500])).attemptsAt).toEqual([0, 250, 625]);
  });

  test('a circuit breaker opens after more than 5 failures in a row, for 60 s, and is closed by 1 success', async () => {
    const { policy, clock, changes } = policyOf({ breaker: {} });
    const breaker = policy.breaker;
    if (breaker === undefined) throw new Error('there is no breaker');
    for (let failure = 1; failure <= 5; failure++) breaker.leave(breaker.enter(), 'failure');
    expect(breaker.state).toBe('closed');
    breaker.leave(breaker.enter(), 'failure');
    expect(breaker.state).toBe('open');
    await clock.advance(59_999);
    expect(breaker.state).toBe('open');
    await clock.advance(1);
    expect(breaker.state).toBe('half-open');
    const pass = breaker.enter();
    expect(() => breaker.enter()).toThrow('too many requests');
    breaker.leave(pass, 'success');
    expect(breaker.state).toBe('closed');
    expect(changes.map(({ from, to }) => `${from} -> ${to}`)).toEqual([
      'closed -> open',
      'open -> half-open',
      'half-open -> closed',
    ]);
  });

  test('nothing at all concerns no target', () => {
    const { resiliency } = make([]);
    expect(resiliency.forApp('a', 'a:m')).toBeUndefined();
    expect(resiliency.forEndpoint('https://x', 'https://x/m')).toBeUndefined();
    expect(resiliency.forComponent('pubsub', 'inbound')).toBeUndefined();
    expect(resiliency.forComponent('pubsub', 'outbound')).toBeUndefined();
  });
});

describe('durations', () => {
  test.each<[given: string | number, ms: number]>([
    ['5s', 5_000],
    ['1m30s', 90_000],
    ['250ms', 250],
    [250, 250],
    ['250', 250],
  ])('%j is %d ms', (given, ms) => {
    expect(policyOf({ timeout: given }).policy.timeoutMs).toBe(ms);
  });

  test.each(['0', 0, '0s'])('a time-out of %j is none', (given) => {
    const { resiliency } = make({ policies: { timeouts: { DefaultTimeoutPolicy: given } } });
    expect(resiliency.forApp('a', 'a:m')).toBeUndefined();
  });
});

describe('what is refused, by name', () => {
  test.each<[what: string, spec: unknown, message: RegExp | string]>([
    [
      'an unknown policy',
      { policies: { retries: { known: {} } }, targets: { apps: { b: { retry: 'unknwon' } } } },
      'options.resiliency.targets.apps.b.retry is "unknwon": expected the name of a policy (known)',
    ],
    [
      'an unknown policy of a component',
      { targets: { components: { pubsub: { inbound: { circuitBreaker: 'cb' } } } } },
      'options.resiliency.targets.components.pubsub.inbound.circuitBreaker is "cb": expected the name of a policy (there are none)',
    ],
    ['a name that every object has', { targets: { apps: { b: { timeout: 'constructor' } } } }, /is "constructor"/],
    [
      'a word for a time',
      { policies: { timeouts: { t: 'soon' } } },
      /policies\.timeouts\.t is "soon": expected a duration/,
    ],
    ['a negative time', { policies: { retries: { r: { duration: '-5s' } } } }, /r\.duration is "-5s"/],
    ['a negative number', { policies: { timeouts: { t: -1 } } }, /timeouts\.t is -1/],
    ['statuses that are none', { policies: { retries: { r: { matching: { httpStatusCodes: '5xx' } } } } }, /is "5xx"/],
    ['a range backwards', { policies: { retries: { r: { matching: { httpStatusCodes: '599-500' } } } } }, /599-500/],
    [
      'a kind of retry',
      { policies: { retries: { r: { policy: 'linear' } } } },
      /retries\.r\.policy must be "constant" or "exponential"/,
    ],
    ['fewer than no retries', { policies: { retries: { r: { maxRetries: -2 } } } }, /maxRetries must be >= -1/],
    ['an unknown field', { policies: { retry: {} } }, /options\.resiliency\.policies: unknown field "retry"/],
    [
      'a trip over unknown names',
      { policies: { circuitBreakers: { c: { trip: 'failures > 5' } } } },
      /c\.trip is not valid.*failures/,
    ],
    [
      'a trip that is no condition',
      { policies: { circuitBreakers: { c: { trip: 'requests + 1' } } } },
      /expected bool/,
    ],
    ['a trip that is no CEL', { policies: { circuitBreakers: { c: { trip: 'requests >' } } } }, /c\.trip is not valid/],
    ['something else', 'retry everything', /options\.resiliency must be object/],
  ])('%s', (_what, spec, message) => {
    expect(() => make(spec as ResiliencySpec)).toThrow(message);
    expect(() => make(spec as ResiliencySpec)).toThrow(expect.objectContaining({ code: 'ERR_CONFIGURATION' }));
  });

  test('of several specs, the one that is wrong', () => {
    expect(() => make([{}, { policies: { timeouts: { t: 'x' } } }])).toThrow(/^options\.resiliency\[1\]\.policies/);
  });

  test('a policy that two specs have', () => {
    const spec: ResiliencySpec = { policies: { timeouts: { t: '1s' } } };
    expect(() => make([spec, spec])).toThrow(
      'options.resiliency[1].policies.timeouts.t is defined twice: first as options.resiliency[0].policies.timeouts.t',
    );
  });
});

test('a target of one spec may use a policy of another', () => {
  const { resiliency } = make([
    { targets: { apps: { b: { timeout: 't' } } } },
    { policies: { timeouts: { t: '2s' } } },
  ]);
  expect(resiliency.forApp('b', 'b:m')?.timeoutMs).toBe(2_000);
});

test('policies and targets may be called like what every object has', () => {
  const spec = JSON.parse(
    '{"policies":{"timeouts":{"__proto__":"2s"}},"targets":{"apps":{"__proto__":{"timeout":"__proto__"}}}}',
  ) as ResiliencySpec;
  const { resiliency } = make(spec);
  expect(resiliency.forApp('__proto__', 'm')?.timeoutMs).toBe(2_000);
  expect(resiliency.forApp('constructor', 'm')).toBeUndefined();
});

describe('default policies', () => {
  const timeouts = {
    DefaultTimeoutPolicy: '1s',
    DefaultAppTimeoutPolicy: '2s',
    DefaultComponentTimeoutPolicy: '3s',
    DefaultComponentInboundTimeoutPolicy: '4s',
    DefaultComponentOutboundTimeoutPolicy: '5s',
    DefaultPubsubComponentInboundTimeoutPolicy: '6s',
    DefaultPubsubComponentOutboundTimeoutPolicy: '7s',
  };
  const without = (...names: string[]): ResiliencySpec => ({
    policies: { timeouts: Object.fromEntries(Object.entries(timeouts).filter(([name]) => !names.includes(name))) },
  });

  test('hold for what has none, the most special name first', () => {
    const { resiliency } = make(without());
    expect(resiliency.forApp('a', 'm')?.timeoutMs).toBe(2_000);
    expect(resiliency.forEndpoint('https://x', 'm')?.timeoutMs).toBe(2_000);
    expect(resiliency.forComponent('p', 'inbound')?.timeoutMs).toBe(6_000);
    expect(resiliency.forComponent('p', 'outbound')?.timeoutMs).toBe(7_000);
  });

  test.each<[missing: string[], app: number, inbound: number, outbound: number]>([
    [['DefaultPubsubComponentInboundTimeoutPolicy', 'DefaultPubsubComponentOutboundTimeoutPolicy'], 2, 4, 5],
    [Object.keys(timeouts).filter((name) => /Inbound|Outbound/.test(name)), 2, 3, 3],
    [Object.keys(timeouts).filter((name) => name !== 'DefaultTimeoutPolicy'), 1, 1, 1],
  ])('without %j', (missing, app, inbound, outbound) => {
    const { resiliency } = make(without(...missing));
    expect(resiliency.forApp('a', 'm')?.timeoutMs).toBe(app * 1_000);
    expect(resiliency.forComponent('p', 'inbound')?.timeoutMs).toBe(inbound * 1_000);
    expect(resiliency.forComponent('p', 'outbound')?.timeoutMs).toBe(outbound * 1_000);
  });

  test('each kind of policy is looked up by itself', () => {
    const { resiliency } = make({
      policies: { retries: { DefaultAppRetryPolicy: {} }, circuitBreakers: { DefaultCircuitBreakerPolicy: {} } },
    });
    const policy = resiliency.forApp('a', 'm');
    expect(policy).toMatchObject({ mayRetry: true, timeoutMs: undefined });
    expect(policy?.breaker?.state).toBe('closed');
    expect(resiliency.forComponent('p', 'inbound')?.retry).toBeUndefined();
  });

  test('do not mix with what a target has, and leave its other direction alone', () => {
    const { resiliency } = make({
      policies: { timeouts: { t: '9s' }, retries: { DefaultRetryPolicy: {} } },
      targets: { apps: { b: { timeout: 't' } }, components: { p: { outbound: { timeout: 't' } } } },
    });
    expect(resiliency.forApp('b', 'm')).toMatchObject({ mayRetry: false, timeoutMs: 9_000 });
    expect(resiliency.forComponent('p', 'outbound')).toMatchObject({ mayRetry: false, timeoutMs: 9_000 });
    expect(resiliency.forComponent('p', 'inbound')?.mayRetry).toBe(true);
  });
});

describe('statuses', () => {
  test.each<[codes: string | undefined, status: number, verdict: string]>([
    [undefined, 200, 'success'],
    [undefined, 204, 'success'],
    [undefined, 302, 'success'],
    [undefined, 399, 'success'],
    [undefined, 400, 'retry'],
    [undefined, 199, 'retry'],
    [undefined, 503, 'retry'],
    ['', 404, 'retry'],
    ['429,500-599', 429, 'retry'],
    ['429,500-599', 500, 'retry'],
    ['429,500-599', 599, 'retry'],
    [' 429 , 500 - 502 ', 502, 'retry'],
    [' 429 , 500 - 502 ', 503, 'failure'],
    ['429,500-599', 404, 'failure'],
    ['200-299', 200, 'success'],
  ])('with httpStatusCodes %j, %d is a %s', (httpStatusCodes, status, verdict) => {
    const matching = httpStatusCodes === undefined ? {} : { matching: { httpStatusCodes } };
    expect(policyOf({ retry: matching }).policy.verdictOf(status)).toBe(verdict);
  });

  test('without a retry policy a failure is final', () => {
    expect(policyOf({ timeout: '1s' }).policy.verdictOf(500)).toBe('failure');
  });
});
