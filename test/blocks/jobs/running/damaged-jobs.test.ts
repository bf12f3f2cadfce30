import { expect, test } from 'vitest';
import { request } from '../../../../src/http/message.ts';
import { defineJob, Sidecar } from '../../../../src/index.ts';
import { KeptStore } from '../../../support/kept-store.ts';
import { RecordingLogger } from '../../../support/logger.ts';

interface Damaged extends AsyncDisposable {
  readonly sidecar: Sidecar;
  readonly store: KeptStore;
  readonly logger: RecordingLogger;
  readonly ran: string[];
}

const LONG = 'x'.repeat(20_000);

/** A sidecar on a store in which an entry of the job `bad` was changed while nothing ran; there is a job `good`, too. */
async function withDamage(
  part: 'due' | 'job' | 'data',
  change: (value: Buffer) => Buffer | undefined,
  { dueTime = '50ms' } = {},
): Promise<Damaged> {
  const store = new KeptStore();
  await using before = new Sidecar({ appId: 'shop', state: store });
  await before.start();
  for (const name of ['bad', 'good']) await before.jobs.schedule(name, { dueTime, data: LONG });
  await before.stop();
  const entries = await store.memory.scan({ from: 'jobs!', to: 'jobs"' });
  const pointer = entries.find(({ key }) => key.endsWith('!job!bad!'));
  const [, dataId] = Buffer.from(pointer?.value ?? [])
    .toString()
    .split(' ');
  const key = entries.find((one) =>
    part === 'data' ? one.key.includes(`${dataId}`) : one.key.includes(`!${part}!`) && one.key.endsWith('!bad!'),
  )?.key;
  const entry = await store.memory.get(key ?? '');
  if (key === undefined || entry === undefined) throw new Error(`there is no ${part}`);
  const value = change(Buffer.from(entry.value));
  await store.memory.commit(value === undefined ? { delete: [key] } : { put: [{ key, value }] });
  const logger = new RecordingLogger();
  const sidecar = new Sidecar({ appId: 'shop', state: store, logger });
  const ran: string[] = [];
  sidecar.register(defineJob('*', (_, { name }) => void ran.push(name)));
  await sidecar.start();
  return { sidecar, store, logger, ran, [Symbol.asyncDispose]: () => sidecar.stop() };
}

const half = (value: Buffer): Buffer => value.subarray(0, value.length / 2);

test('a job whose entry is damaged is told of, and the others run', async () => {
  await using world = await withDamage('due', half);
  await expect.poll(() => world.ran).toEqual(['good']);
  const [line] = world.logger.at('error');
  expect(line?.message).toBe('a stored job cannot be read: it stays in the store and does not run');
  expect(line?.details['key']).toMatch(/!bad!$/);
  expect(world.logger.at('error')).toHaveLength(1);
});

test('it does not hide the others in a list, is an error when it is read, and can be deleted', async () => {
  await using world = await withDamage('due', half);
  const { jobs } = world.sidecar;
  await jobs.schedule('other', { dueTime: '1h' });
  expect((await jobs.listPage()).jobs.map(({ name }) => name)).toContain('other');
  await expect(jobs.get('bad')).rejects.toThrow(/!bad!" is damaged \(/);
  expect(await jobs.delete('bad')).toBe(true);
  expect(await jobs.get('bad')).toBeUndefined();
  await jobs.schedule('bad', { dueTime: '1h' });
});

test.each<[what: string, change: (value: Buffer) => Buffer | undefined, problem: RegExp]>([
  ['damaged', half, /the data of job "bad" in the store are damaged \(/],
  ['missing', () => undefined, /the data of job "bad" are missing in the store/],
])('data that are %s are an error over HTTP', async (_what, change, problem) => {
  await using world = await withDamage('data', change);
  const reply = await world.sidecar.handle(request('GET', '/v1.0-alpha1/jobs/bad'));
  const body = JSON.parse(Buffer.from(reply.body as Uint8Array).toString()) as { message: string };
  expect([reply.status, body.message]).toEqual([500, expect.stringMatching(problem)]);
});

test('a job whose data are missing does not run in silence', async () => {
  await using world = await withDamage('data', () => undefined);
  await expect.poll(() => world.ran).toEqual(['good']);
  await expect
    .poll(() => world.logger.at('error').map(({ message }) => message))
    .toEqual(['a job cannot run: its data are missing in the store']);
});

test('a pointer that is damaged is an error that names it', async () => {
  await using world = await withDamage('job', () => Buffer.from('\u0001soon'));
  await expect(world.sidecar.jobs.get('bad')).rejects.toThrow(
    '!job!bad!" is damaged (an instant was expected, actual is "soon")',
  );
});

test.each<[what: string, part: 'job' | 'due', change: (value: Buffer) => Buffer | undefined, problem: RegExp]>([
  ['is damaged', 'job', () => Buffer.from('\u0001soon'), /!job!bad!" is damaged \(/],
  ['leads to no entry', 'due', () => undefined, /The job "bad" has no entry in the store/],
])('a pointer that %s does not hide the others, and can be deleted', async (_what, part, change, problem) => {
  await using world = await withDamage(part, change, { dueTime: '1h' });
  const { jobs } = world.sidecar;
  for (let times = 0; times < 2; times++)
    expect((await jobs.listPage()).jobs.map(({ name }) => name)).toEqual(['good']);
  expect(world.logger.at('error').map(({ message, details }) => [message, details['key']])).toEqual([
    [
      'a stored job cannot be found by its name: lists leave it out until it is deleted',
      expect.stringMatching(/!bad!$/),
    ],
  ]);
  await expect(jobs.get('bad')).rejects.toThrow(problem);
  expect(await jobs.delete('bad')).toBe(true);
  // The pointer, the entry and the data of the other one.
  expect(await world.store.size()).toBe(3);
  expect([await jobs.get('bad'), await jobs.delete('bad')]).toEqual([undefined, false]);
  await jobs.schedule('bad', { dueTime: '1h' });
  expect((await jobs.listPage()).jobs.map(({ name }) => name)).toEqual(['bad', 'good']);
});
