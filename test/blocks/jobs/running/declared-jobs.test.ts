import { expect, test } from 'vitest';
import { DeclaredJobs } from '../../../../src/blocks/jobs/running/declared-jobs.ts';

const FIELDS = { dueTime: '1h' } as never;

test('a defined job that was scheduled while it is written does not replace what was scheduled', async () => {
  const declared = new DeclaredJobs();
  declared.add('report', FIELDS);
  const wanted: boolean[] = [];
  const written = declared.write(
    async (name, _fields, isWanted) => {
      wanted.push(isWanted());
      declared.forget(name);
      wanted.push(isWanted());
    },
    () => undefined,
  );
  await written;
  expect(wanted).toEqual([true, false]);
});

test('all are tried; the first error is told and thrown, and only what is not stored is tried again', async () => {
  const declared = new DeclaredJobs();
  for (const name of ['a', 'b', 'c']) declared.add(name, FIELDS);
  const told: unknown[] = [];
  const error = new Error('it is damaged');
  const tried: string[] = [];
  const write = (name: string): Promise<void> => {
    tried.push(name);
    return name === 'b' && tried.length < 4 ? Promise.reject(error) : Promise.resolve();
  };
  await expect(declared.write(write, (one) => told.push(one))).rejects.toBe(error);
  await declared.write(write, (one) => told.push(one));
  expect([tried, told]).toEqual([
    ['a', 'b', 'c', 'b'],
    [error, undefined],
  ]);
});
