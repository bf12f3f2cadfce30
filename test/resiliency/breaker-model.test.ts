import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BreakerState, CircuitBreaker, type Ending, type Pass } from '../../src/resiliency/breaker.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { SteppedClock } from '../support/stepped-clock.ts';

/** What is done with a breaker, as data. */
type Step =
  | { readonly kind: 'enter' }
  | { readonly kind: 'leave'; readonly which: number; readonly ending: Ending }
  | { readonly kind: 'pass'; readonly ms: number };

interface Settings {
  readonly maxRequests: number;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly failures: number;
}

/**
 * The breaker as a history: it remembers every attempt of the present period, and derives from that list what the real
 * one counts.
 */
class Model {
  state: BreakerState = 'closed';
  readonly changes: string[] = [];
  #now = 0;
  #since = 0;
  #period: { ending?: Ending }[] = [];
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  passTime(ms: number): void {
    this.#now += ms;
  }

  /** Time has its effect when somebody looks. */
  look(): void {
    const { intervalMs, timeoutMs } = this.#settings;
    const age = this.#now - this.#since;
    if (this.state === 'closed' && intervalMs > 0 && age >= intervalMs) this.#begin();
    else if (this.state === 'open' && age >= timeoutMs) this.#become('half-open');
    else if (this.state === 'half-open' && age >= timeoutMs) this.#begin();
  }

  enter(): { ending?: Ending } | 'circuit breaker is open' | 'too many requests' {
    this.look();
    if (this.state === 'open') return 'circuit breaker is open';
    const counted = this.#period.filter(({ ending }) => ending !== 'abandoned');
    if (this.state === 'half-open' && counted.length >= this.#settings.maxRequests) return 'too many requests';
    const attempt = {};
    this.#period.push(attempt);
    return attempt;
  }

  leave(attempt: { ending?: Ending }, ending: Ending): void {
    this.look();
    if (!this.#period.includes(attempt)) return;
    // In the order in which they ended.
    this.#period.splice(this.#period.indexOf(attempt), 1);
    attempt.ending = ending;
    this.#period.push(attempt);
    const ended = this.#period.flatMap((one) =>
      one.ending === undefined || one.ending === 'abandoned' ? [] : one.ending,
    );
    const lastGood = ended.lastIndexOf('success');
    const failuresInARow = ended.length - 1 - lastGood;
    const successesInARow = ended.length - 1 - ended.lastIndexOf('failure');
    if (ending === 'failure' && (this.state === 'half-open' || failuresInARow >= this.#settings.failures))
      this.#become('open');
    else if (ending === 'success' && this.state === 'half-open' && successesInARow >= this.#settings.maxRequests)
      this.#become('closed');
  }

  #become(state: BreakerState): void {
    this.changes.push(`${this.state} -> ${state}`);
    this.state = state;
    this.#begin();
  }

  #begin(): void {
    this.#since = this.#now;
    this.#period = [];
  }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('enter' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('leave' as const),
      which: fc.nat(5),
      ending: fc.constantFrom<Ending>('success', 'failure', 'failure', 'failure', 'abandoned'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 40, 59, 60, 100) }) },
);

const settings: fc.Arbitrary<Settings> = fc.record({
  maxRequests: fc.integer({ min: 1, max: 3 }),
  intervalMs: fc.constantFrom(0, 50, 150),
  timeoutMs: fc.constantFrom(1, 60, 100),
  failures: fc.integer({ min: 1, max: 3 }),
});

/** Drives both; answers how far the breaker came. */
async function follow(given: Settings, steps: readonly Step[]): Promise<readonly string[]> {
  const clock = virtualClock();
  const changes: string[] = [];
  const breaker = new CircuitBreaker(
    { ...given, trips: ({ consecutiveFailures }) => consecutiveFailures >= given.failures },
    clock,
    (from, to) => changes.push(`${from} -> ${to}`),
  );
  const model = new Model(given);
  const running: { pass: Pass; attempt: { ending?: Ending } }[] = [];
  for (const one of steps) {
    if (one.kind === 'pass') {
      await clock.advance(one.ms);
      model.passTime(one.ms);
    } else if (one.kind === 'enter') {
      const attempt = model.enter();
      expect(breaker.isFree).toBe(typeof attempt !== 'string');
      if (typeof attempt === 'string') expect(() => breaker.enter()).toThrow(attempt);
      else running.push({ pass: breaker.enter(), attempt });
    } else if (running.length > 0) {
      const [left] = running.splice(one.which % running.length, 1);
      if (left === undefined) continue;
      breaker.leave(left.pass, one.ending);
      model.leave(left.attempt, one.ending);
    }
    model.look();
    expect(breaker.state).toBe(model.state);
    expect(changes).toEqual(model.changes);
  }
  return changes;
}

test('a breaker does what its history says, whatever is done with it', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(settings, fc.array(step, { minLength: 30, maxLength: 100 }), async (given, steps) => {
      for (const change of await follow(given, steps)) seen.add(change);
    }),
    { numRuns: 150 },
  );
  // The examples have been everywhere.
  expect([...seen].sort()).toEqual(['closed -> open', 'half-open -> closed', 'half-open -> open', 'open -> half-open']);
});

test('a breaker that is open lets through again in time, although the clock was set back', async () => {
  const clock = new SteppedClock();
  const settings = { maxRequests: 1, intervalMs: 0, timeoutMs: 5_000, trips: () => true };
  const breaker = new CircuitBreaker(settings, clock, () => undefined);
  breaker.leave(breaker.enter(), 'failure');
  clock.step(-3_600_000);
  await clock.time.advance('4s');
  expect([breaker.state, breaker.remainingMs, breaker.changesAt - clock.now()]).toEqual(['open', 1_000, 1_000]);
  await clock.time.advance('1s');
  expect(breaker.state).toBe('half-open');
});
