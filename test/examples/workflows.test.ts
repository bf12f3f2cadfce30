import { expect, test } from 'vitest';
import { outputOf } from './output-of.ts';

test('workflow-saga.ts: what was done is undone, last first', () => {
  const [first = '', second = '', third = ''] = outputOf('workflow-saga.ts')
    .split(/^order o-\d\n/m)
    .slice(1);
  expect(first).toContain('COMPLETED: parcel of o-1');
  expect(first).not.toContain('refund');
  expect(second).toMatch(/release "reservation of o-2"\nCOMPLETED: cancelled: .*the card was declined/);
  expect(second).not.toContain('refund');
  expect(third.match(/ {2}ship /g)).toHaveLength(3);
  expect(third).toMatch(
    /refund "payment of o-3"\n {2}release "reservation of o-3"\nCOMPLETED: cancelled: .*no carrier/,
  );
});

test('workflow-approval.ts: approved, refused, escalated after three days', () => {
  const output = outputOf('workflow-approval.ts');
  for (const line of [
    'coffee: approved without asking',
    'train: approved by Grace',
    'hotel: escalated',
    'yacht: refused by Grace',
    'mail: nobody has decided on 300 for Bob',
  ])
    expect(output).toContain(`${line}\n`);
});

test('workflow-fan-out.ts: a thousand pages side by side', () => {
  expect(outputOf('workflow-fan-out.ts')).toMatch(/1000 pages in \d+ ms: \[\s*\[ 'call', 1000 \],\s*\[ 'me', 1000 \]/);
});

test('workflow-monitor.ts: a day of a machine, in a short history', () => {
  const output = outputOf('workflow-monitor.ts');
  expect(output).toContain('2026-05-01 03:10 press 4 is broken\n2026-05-01 05:00 press 4 is fine again\n');
  expect(output).toMatch(/COMPLETED: press 4 is gone; [34] events in its history/);
});
