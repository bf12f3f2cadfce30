import { expect, test } from 'vitest';
import { Fleet, type Member } from '../support/fleet.ts';

const NAMES = Array.from({ length: 12 }, (_, index) => `long-${index}`);

/** How often the process has ended during the runs of the jobs, as is stored; those under way are counted. */
async function crashesIn({ memory }: Fleet): Promise<readonly number[]> {
  const entries = await memory.scan({ from: 'jobs!', to: 'jobs"' });
  const headers = entries.map(({ value }) => Buffer.from(value.subarray(1)).toString().split('\n')[0] ?? '');
  return headers
    .filter((header) => header.startsWith('{'))
    .map((header) => (JSON.parse(header) as { readonly i?: number }).i ?? 0);
}

test('a host that dies is counted; a hand-over to another host is not, however long the runs take', async () => {
  await using fleet = new Fleet();
  const ends: (() => void)[] = [];
  const takes = (member: Member): void => {
    member.onRun = () => new Promise<void>((resolve) => ends.push(resolve));
  };
  const first = await fleet.join({ isApart: true });
  takes(first);
  for (const name of NAMES) await first.sidecar.jobs.schedule(name, { dueTime: '0s' });
  await fleet.pass(1);
  expect(await crashesIn(fleet)).toEqual(NAMES.map(() => 0));
  first.store.pause();
  const second = await fleet.join({ isApart: true });
  takes(second);
  await fleet.pass(18, [second]);
  expect(second.runs).toHaveLength(NAMES.length);
  expect(await crashesIn(fleet)).toEqual(NAMES.map(() => 1));
  const third = await fleet.join({ isApart: true });
  takes(third);
  await fleet.pass(18, [second, third]);
  expect(third.runs.length).toBeGreaterThan(0);
  expect(await crashesIn(fleet)).toEqual(NAMES.map(() => 1));
  for (const end of ends) end();
}, 60_000);
