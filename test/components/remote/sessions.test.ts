import { expect, test, vi } from 'vitest';
import { ConnectionLostError, SessionClosedError } from '../../../src/components/remote/connection.ts';
import type { PendingGroup } from '../../../src/components/remote/pending-group.ts';
import type { RemoteLink } from '../../../src/components/remote/remote-link.ts';
import { Sessions } from '../../../src/components/remote/sessions.ts';
import { closedError, StateError } from '../../../src/state/errors.ts';
import type { Batch } from '../../../src/state/store.ts';
import { put } from '../../support/embedded-store.ts';

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

test('a group is not taken for an earlier one that failed and was written all the same', async () => {
  // As when a sync fails: the commit is told to have failed, and the next process finds it in the log.
  const failure = new StateError('failed', 'the disk does not sync');
  const server = new Map<number, { last: number; isClosed: boolean }>();
  const written: { readonly batches: readonly Batch[]; readonly firstVersion: number }[] = [];
  const faults = ['fails, although it writes', 'is lost'];
  const connection = {
    openSession: async () => server.set(server.size + 1, { last: 0, isClosed: false }).size,
    closeSession: async (session: number) => {
      const found = server.get(session);
      if (found !== undefined) found.isClosed = true;
      return { group: found?.last ?? 0, refusals: [] };
    },
    commit: async ({ group }: PendingGroup) => {
      const fault = faults.shift();
      if (fault === 'is lost') throw new ConnectionLostError('the process was killed');
      const session = server.get(group.session);
      if (session === undefined || session.isClosed || session.last >= group.number)
        throw new SessionClosedError('closed');
      session.last = group.number;
      written.push(group);
      if (fault !== undefined) throw failure;
      return [];
    },
  };
  const link = { call: (_waitMs: number, work: (connection: object) => unknown) => Promise.resolve(work(connection)) };
  const sessions = new Sessions(link as unknown as RemoteLink, Math.random);
  const [failed, next] = [[{ put: [put('failed')] }], [{ put: [put('next')] }]];
  await expect(sessions.commit(failed, { waitMs: 0 })).rejects.toBe(failure);
  await expect(sessions.commit(next, { waitMs: 0 })).rejects.toThrow('killed');
  const { firstVersion } = await sessions.commit(next, { waitMs: 0 });
  expect(written.map(({ batches }) => batches)).toEqual([failed, next]);
  expect(written[1]?.firstVersion).toBe(firstVersion);
  expect(written[0]?.firstVersion).not.toBe(firstVersion);
});
