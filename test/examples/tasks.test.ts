import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { outputOf } from './output-of.ts';

/** What each program prints: all of it, in order. */
const OUTPUT: Record<string, string> = {
  '1-typed-message.ts': 'order 1\n',
  '2-dead-letter.ts': [
    ...[1, 2, 3].map((attempt) => `order 1, attempt ${attempt}`),
    '{ id: 1 } no carrier\norder 1, attempt 1\n1 redelivered\n',
  ].join('\n'),
  '3-in-order.ts': 'Ada pays 1\nAda pays 2\nBob pays 3\n',
  '4-nightly.ts': '2026-01-01T01:30:00.000Z to accounts\n2026-01-02T01:30:00.000Z to accounts\n',
  '5-once-in-three-days.ts': 'invoice 4711 is due\n',
  '6-saga.ts': [
    'released: reservation of o-3',
    'released: reservation of o-2',
    'released: reservation of o-4',
    'o-1 payment of o-1',
    'o-2 failed: ',
    'o-3 failed: ',
    'o-4 nobody has decided',
    '',
  ].join('\n'),
  '7-fan-out.ts': 'sum 999000, at most 20 at a time\n',
  '8-limits.ts': 'at most 2 at a time\n',
};

test('there is a case for each program', () => {
  const folder = fileURLToPath(new URL('../../examples/tasks', import.meta.url));
  const tested = readdirSync(folder).filter((name) => name !== '9-tested.ts');
  expect(tested.sort()).toEqual(Object.keys(OUTPUT));
});

test.each(Object.entries(OUTPUT))('tasks/%s', (name, expected) => {
  // The reasons of failures are in tests of their own.
  expect(outputOf(`tasks/${name}`).replace(/(?<=failed: ).*/g, '')).toBe(expected);
});

test('tasks/9-tested.ts', () => {
  expect(outputOf('tasks/9-tested.ts')).toMatch(/pass 1\n/);
});
