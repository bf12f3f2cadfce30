import { expect, test } from 'vitest';
import { firstOf } from '../../../src/components/remote/first-of.ts';
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
