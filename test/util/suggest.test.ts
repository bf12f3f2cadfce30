import { expect, test } from 'vitest';
import { didYouMean, suggest } from '../../src/util/suggest.ts';

const known = ['appPort', 'appProtocol', 'command', 'env', '__proto__'];

test.each([
  ['appPrt', 'appPort'],
  ['apport', 'appPort'],
  ['APPPORT', 'appPort'],
  ['comand', 'command'],
  ['ocmmand', 'command'],
  ['evn', 'env'],
  ['_proto_', '__proto__'],
  ['command', 'command'],
])('for %s there is %s', (written, expected) => {
  expect(suggest(written, known)).toBe(expected);
});

test.each(['', 'x', 'xyz', 'metadata', 'c'.repeat(1_000_000)])('for %.20s there is nothing', (written) => {
  expect(suggest(written, known)).toBeUndefined();
});

test('the nearest goes before those further away', () => {
  expect(suggest('appPrtocol', ['appPortal', 'appProtocol'])).toBe('appProtocol');
});

test('it is said as the end of a sentence', () => {
  expect([didYouMean('evn', known), didYouMean('xyz', known)]).toEqual(['; did you mean "env"?', '']);
});
