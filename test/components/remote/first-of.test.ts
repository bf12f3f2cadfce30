import { expect, test, vi } from 'vitest';
import { ConnectionLostError } from '../../../src/components/remote/connection.ts';
import { firstOf, UnknownThereError } from '../../../src/components/remote/first-of.ts';
import { StateError } from '../../../src/state/errors.ts';

const never = new AbortController().signal;
const places = ['a', 'b', 'c'].map((name) => ({ name }));

test('a place that does not answer is passed over, and given up once another one works', async () => {
  let givenUp: string | undefined;
  const opened = await firstOf(
    places,
    ({ name }, signal) =>
      name === 'b'
        ? Promise.resolve(name)
        : new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              givenUp = name;
              reject(new Error('given up'));
            });
          }),
    never,
  );
  expect([opened, givenUp]).toEqual(['b', 'a']);
});

/** Places that open only if they have one of these names; all others wait until they are given up. */
function waiting(...names: readonly string[]) {
  const tried: string[] = [];
  const open = ({ name }: { name: string }, signal: AbortSignal): Promise<string> => {
    tried.push(name);
    if (names.includes(name)) return Promise.resolve(name);
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('given up')));
    });
  };
  return { tried, open };
}

test('no other place is opened once all are given up', async () => {
  const { tried, open } = waiting('b');
  const given = new AbortController();
  setTimeout(() => given.abort(), 10);
  await expect(firstOf(places, open, given.signal)).rejects.toThrow('a: given up');
  expect(tried).toEqual(['a']);
});

test('no other place is opened once one works', async () => {
  const { tried, open } = waiting('b');
  expect(await firstOf(places, open, never)).toBe('b');
  await new Promise((resolve) => setImmediate(resolve));
  expect(tried).toEqual(['a', 'b']);
});

test('every place is tried in the time that there is', async () => {
  vi.useFakeTimers();
  try {
    const { tried, open } = waiting();
    const given = new AbortController();
    const opening = expect(firstOf(places, open, given.signal, 400)).rejects.toThrow('given up');
    await vi.advanceTimersByTimeAsync(300);
    expect(tried).toEqual(['a', 'b', 'c']);
    given.abort();
    await opening;
  } finally {
    vi.useRealTimers();
  }
});

test('a place that answers late is used if no other one works', async () => {
  const late = new Promise<string>((resolve) => setTimeout(() => resolve('late'), 700));
  const open = ({ name }: { name: string }): Promise<string> => (name === 'a' ? late : Promise.reject(new Error('no')));
  expect(await firstOf(places, open, never)).toBe('late');
});

test('says what is wrong with each place', async () => {
  const open = ({ name }: { name: string }): Promise<never> => Promise.reject(new Error(`no ${name}`));
  await expect(firstOf(places, open, never)).rejects.toThrow('a: no a; b: no b; c: no c');
});

test('a place where retries are useless ends the search', async () => {
  const tried: string[] = [];
  const open = ({ name }: { name: string }): Promise<never> => {
    tried.push(name);
    return Promise.reject(new StateError('failed', 'wrong password'));
  };
  await expect(firstOf(places, open, never)).rejects.toMatchObject({ kind: 'failed', message: 'wrong password' });
  expect(tried).toEqual(['a']);
});

test('a place that does not know what is sought is passed over', async () => {
  const open = ({ name }: { name: string }): Promise<string> =>
    name === 'c' ? Promise.resolve(name) : Promise.reject(new UnknownThereError('not here'));
  expect(await firstOf(places, open, never)).toBe('c');
});

test('retries are useless only when every place has answered that it does not know what is sought', async () => {
  const unknown = new UnknownThereError('not here');
  await expect(firstOf(places, () => Promise.reject(unknown), never)).rejects.toMatchObject({
    kind: 'failed',
    message: 'a: not here; b: not here; c: not here',
  });
  const open = ({ name }: { name: string }): Promise<never> =>
    Promise.reject(name === 'b' ? new Error('silent') : unknown);
  const error: unknown = await firstOf(places, open, never).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ConnectionLostError);
  expect(String(error)).toContain('a: not here; b: silent; c: not here');
});
