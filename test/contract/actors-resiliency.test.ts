import { expect, test } from 'vitest';
import { actorsWorld } from '../support/actors-world.ts';
import { until as untilOrTell } from '../support/stores-world.ts';

const until = (holds: () => boolean): Promise<void> => untilOrTell(holds, () => String(holds));

const resiliency = (actor: object): object => ({
  policies: {
    timeouts: { short: '1s' },
    retries: { twice: { policy: 'constant', duration: '1s', maxRetries: 2 } },
    circuitBreakers: { one: { trip: 'consecutiveFailures >= 1', timeout: '1h' } },
  },
  targets: { actors: { Cart: actor } },
});

test('a time limit ends the waiting only: the turn lasts until the application has answered', async () => {
  const answers: (() => void)[] = [];
  await using world = await actorsWorld({
    resiliency: resiliency({ timeout: 'short' }),
    answer: () => new Promise((resolve) => answers.push(() => resolve({}))),
  });
  const late = world.call('Cart/a/method/1');
  await until(() => answers.length === 1);
  const next = world.call('Cart/a/method/2');
  await world.clock.advance('2s');
  const answer = await late;
  expect(answer.error).toEqual([500, 'ERR_ACTOR_INVOKE_METHOD']);
  expect(answer.text).toContain('no result within 1000 ms');
  await world.clock.advance('10s');
  expect(world.app.requests).toHaveLength(1);
  answers[0]?.();
  await until(() => answers.length === 2);
  answers[1]?.();
  expect((await next).status).toBe(200);
});

test('a retry takes a new turn, behind those that wait', async () => {
  let give = (): void => undefined;
  await using world = await actorsWorld({
    resiliency: resiliency({ retry: 'twice' }),
    answer: (_request, nth) =>
      nth === 1 ? new Promise((resolve) => (give = () => resolve({ status: 500 }))) : undefined,
  });
  const first = world.call('Cart/a/method/1');
  await until(() => world.app.requests.length === 1);
  const second = world.call('Cart/a/method/2');
  await until(() => world.sidecar.actors.active().some(({ waiting }) => waiting === 1));
  give();
  expect((await second).status).toBe(200);
  await world.clock.advance('2s');
  expect((await first).status).toBe(200);
  expect(world.app.of('PUT').map(({ path }) => path.at(-1))).toEqual(['1', '2', '1']);
});

test.each([
  ['type', [500, 500]],
  ['id', [500, 200]],
  ['both', [500, 500]],
])('a circuit breaker of scope %s', async (circuitBreakerScope, expected) => {
  await using world = await actorsWorld({
    resiliency: resiliency({ circuitBreaker: 'one', circuitBreakerScope }),
    answer: (_request, nth) => (nth === 1 ? { status: 500 } : undefined),
  });
  await world.call('Cart/a/method/m');
  const [same, other] = [await world.call('Cart/a/method/m'), await world.call('Cart/b/method/m')];
  expect([same.status, other.status]).toEqual(expected);
  expect(same.text).toContain('circuit breaker is open');
  expect(world.sidecar.health).toBeDefined();
});

test('calls beyond those that may wait are refused for now', async () => {
  let give = (): void => undefined;
  await using world = await actorsWorld({
    answer: (_request, nth) => (nth === 1 ? new Promise((resolve) => (give = () => resolve({}))) : undefined),
  });
  const { actors } = world.sidecar;
  const calls = [actors.call('Cart', 'a', { method: 'm' })];
  await until(() => world.app.requests.length === 1);
  const giveUp = new AbortController();
  for (let nth = 0; nth < 10_000; nth++) calls.push(actors.call('Cart', 'a', { method: 'm', signal: giveUp.signal }));
  const refused = await world.call('Cart/a/method/m');
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
  expect((await world.call('Cart/b/method/m')).status).toBe(200);
  giveUp.abort(new Error('enough'));
  give();
  const outcomes = await Promise.allSettled(calls);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(world.app.requests).toHaveLength(2);
});
