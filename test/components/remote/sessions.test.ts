import { expect, test, vi } from 'vitest';
import { ConnectionLostError } from '../../../src/components/remote/connection.ts';
import type { RemoteLink } from '../../../src/components/remote/remote-link.ts';
import { Sessions } from '../../../src/components/remote/sessions.ts';
import { closedError, StateError } from '../../../src/state/errors.ts';

test('two sessions of the same number, given out before and after a failover, have other versions', async () => {
  const connection = { openSession: async () => 7, commit: async () => [] };
  const link = { call: (_waitMs: number, work: (connection: object) => unknown) => Promise.resolve(work(connection)) };
  const firstVersion = async (): Promise<number> =>
    (await new Sessions(link as unknown as RemoteLink, Math.random).commit([{}], { waitMs: 0 })).firstVersion;
  const versions = await Promise.all(Array.from({ length: 20 }, firstVersion));
  expect(new Set(versions).size).toBe(20);
  for (const version of versions) expect(Math.floor(version / 2 ** 21)).toBe(7);
});

test('writes what is left of a partly refused group in a call of its own, with a time limit of its own', async () => {
  const answers = [['there'], []];
  const connection = { openSession: async () => 7, commit: async () => answers.shift() };
  const call = vi.fn((_waitMs: number, work: (connection: object) => unknown) => Promise.resolve(work(connection)));
  const sessions = new Sessions({ call } as unknown as RemoteLink, Math.random);
  const batches = [{ require: [{ key: 'there', version: 'absent' as const }] }, {}];
  const { refusals } = await sessions.commit(batches, { waitMs: 1_000 });
  expect(refusals).toEqual([{ batch: 0, precondition: 0 }]);
  expect(call).toHaveBeenCalledTimes(3);
});

test.each([
  ['full', new StateError('full', 'no space left')],
  ['closed', closedError()],
])('does not say that nothing was written when the outcome stays unknown: %s', async (_kind, failure) => {
  const lost = new ConnectionLostError('cut');
  const connection = {
    openSession: async () => 7,
    commit: () => Promise.reject(lost),
    closeSession: () => Promise.reject(failure),
  };
  const link = { call: (_waitMs: number, work: (connection: object) => unknown) => Promise.resolve(work(connection)) };
  const sessions = new Sessions(link as unknown as RemoteLink, Math.random);
  const batches = [{}];
  await expect(sessions.commit(batches, { waitMs: 0 })).rejects.toBe(lost);
  await expect(sessions.commit(batches, { waitMs: 0 })).rejects.toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('may have been written'),
  });
  await expect(sessions.commit([{}], { waitMs: 0 })).rejects.toBe(failure);
});
