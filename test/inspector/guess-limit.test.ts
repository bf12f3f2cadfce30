import { expect, test } from 'vitest';
import { GuessLimit } from '../../src/inspector/access/guess-limit.ts';

test('guesses of an address are looked at again a minute after the first', () => {
  let now = 5_000;
  const limit = new GuessLimit(() => now);
  const guess = (): void => {
    limit.check('a');
    limit.count('a');
  };
  for (let nth = 0; nth < 20; nth++) guess();
  now += 59_000;
  expect(guess).toThrow('try again in 1 s');
  now += 1_000;
  for (let nth = 0; nth < 20; nth++) guess();
  expect(guess).toThrow('try again in 60 s');
});

test('addresses beyond the thousandth take the place of the oldest', () => {
  const limit = new GuessLimit(() => 0);
  for (let nth = 0; nth < 20; nth++) limit.count('first');
  for (let nth = 0; nth < 999; nth++) limit.count(`other ${nth}`);
  expect(() => limit.check('first')).toThrow('too many wrong tokens');
  limit.count('one more');
  expect(() => limit.check('first')).not.toThrow();
});
