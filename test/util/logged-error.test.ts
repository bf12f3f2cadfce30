import { pino } from 'pino';
import { describe, expect, test, vi } from 'vitest';
import { messageOf } from '../../src/errors.ts';
import { loggedError, loggingErrors } from '../../src/util/logged-error.ts';
import { standardErrorLogger } from '../../src/util/logger.ts';

class PaymentError extends Error {
  readonly code = 'E_CARD';
}

const hostile = new Proxy(new Error('never seen'), {
  get: () => {
    throw new Error('not even this');
  },
  getPrototypeOf: () => {
    throw new Error('nor this');
  },
});

/** The lines of standard error while something is done. */
function written(work: () => void): unknown[] {
  const lines: string[] = [];
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    lines.push(String(text));
    return true;
  });
  try {
    work();
  } finally {
    spy.mockRestore();
  }
  return lines.map((line) => JSON.parse(line) as unknown);
}

describe('an error in the log', () => {
  test('has type, message, code and stack, and its causes likewise', () => {
    const error = new PaymentError('declined', { cause: new TypeError('no card', { cause: 'a string' }) });
    expect(loggedError(error)).toEqual({
      type: 'PaymentError',
      message: 'declined',
      code: 'E_CARD',
      stack: expect.stringMatching(/^Error: declined\n {4}at .*logged-error\.test/),
      cause: {
        type: 'TypeError',
        message: 'no card',
        stack: expect.stringContaining('TypeError: no card\n    at '),
        cause: { type: 'string', message: "a value that is not an error was thrown: 'a string'" },
      },
    });
  });

  test('tells the errors of an AggregateError', () => {
    const error = new AggregateError(
      Array.from({ length: 20 }, (_, n) => new Error(`${n}`)),
      'all failed',
    );
    expect(loggedError(error).errors?.map(({ message }) => message)).toEqual(['0', '1', '2', '3', '4']);
  });

  test('is bounded in length and depth, also when it is its own cause', () => {
    const error = new Error('x'.repeat(10_000_000));
    error.cause = error;
    expect(JSON.stringify(loggedError(error)).length).toBeLessThan(100_000);
  });

  test('has a type and a code of at most 256 characters', () => {
    class Long extends Error {
      static override readonly name = 'N'.repeat(1_000_000);
      readonly code = 'c'.repeat(1_000_000);
    }
    const { type, code } = loggedError(new Long());
    expect([type, code]).toEqual([`${'N'.repeat(256)}…`, `${'c'.repeat(256)}…`]);
  });

  // Made in the test: the runner would look at them for its title.
  test.each<[what: string, make: () => unknown]>([
    ['a proxy that throws', () => hostile],
    ['a proxy that was revoked', () => revoked({})],
    [
      'getters that throw',
      () => Object.defineProperties(new Error(), { stack: { get: fail }, message: { get: fail } }),
    ],
    ['errors that are a proxy that throws', () => withErrors(new Proxy([], { get: fail }))],
    ['errors that are a proxy that was revoked', () => withErrors(revoked([]))],
    ['a list of errors with a getter that throws', () => withErrors(Object.defineProperty([1], 0, { get: fail }))],
    ['a list of errors with methods of its own', () => withErrors(Object.assign([1], { slice: fail, map: fail }))],
    ['a message that is an object', () => Object.assign(new Error(), { message: { a: 1 } })],
  ])('can be anything: %s', (_, make) => {
    expect(typeof loggedError(make()).message).toBe('string');
  });

  test('comes out of pino as it is, which writes an Error under any key but err as {}', () => {
    const lines: string[] = [];
    const logger = loggingErrors(pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }));
    logger.warn({ topic: 't', error: new PaymentError('declined') }, 'no');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      topic: 't',
      msg: 'no',
      error: { type: 'PaymentError', message: 'declined', stack: expect.stringContaining('at ') },
    });
  });

  test('is in a line of JSON on standard error', () => {
    const lines = written(() =>
      standardErrorLogger({ appId: 'shop' }).error({ error: new Error('a', { cause: new Error('b') }) }, 'no'),
    );
    expect(lines).toMatchObject([
      { level: 'error', scope: 'insidecar', msg: 'no', error: { message: 'a', cause: { message: 'b' } } },
    ]);
  });
});

function fail(): never {
  throw new Error('hostile');
}

function withErrors(errors: unknown): unknown {
  return Object.assign(new Error('several'), { errors });
}

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

describe('what was thrown and is no error is readable', () => {
  test.each<[text: string, make: () => unknown]>([
    ['{ code: 7 }', () => ({ code: 7 })],
    ['undefined', () => undefined],
    ['null', () => null],
    ["''", () => ''],
    ["'boom'", () => 'boom'],
    ['7n', () => 7n],
    ['Symbol(s)', () => Symbol('s')],
    ["Map(1) { 'a' => 1 }", () => new Map([['a', 1]])],
    ['{ a: { b: { c: [Object] } } }', () => ({ a: { b: { c: { d: 1 } } } })],
    [
      '{ toString: [Function: fail], Symbol(Symbol.toPrimitive): [Function: fail] }',
      () => ({ toString: fail, [Symbol.toPrimitive]: fail }),
    ],
    ['{ x: [Getter] }', () => Object.defineProperty({}, 'x', { get: fail, enumerable: true })],
  ])('%s', (text, make) => {
    // Before Node 24, symbols are in brackets.
    const message = messageOf(make()).replace(/\[(Symbol\([^)]*\))\]/, '$1');
    expect(message).toBe(`a value that is not an error was thrown: ${text}`);
  });

  test('within 16 KiB', () => {
    expect(messageOf(Array.from({ length: 100 }, () => 'x'.repeat(9_000))).length).toBeLessThan(17_000);
  });

  test.each<[what: string, make: () => unknown]>([
    ['a proxy that throws', () => hostile],
    ['a proxy that was revoked', () => revoked({})],
    ['a tag that throws', () => Object.defineProperty({}, Symbol.toStringTag, { get: fail })],
    ['an inspection of its own that throws', () => ({ [Symbol.for('nodejs.util.inspect.custom')]: fail })],
  ])('%s does not throw again', (_, make) => {
    expect(messageOf(make())).toMatch(/^a value that /);
  });
});
