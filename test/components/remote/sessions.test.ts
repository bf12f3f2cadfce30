import { expect, test } from 'vitest';
import type { Link } from '../../../src/components/remote/link.ts';
import { Sessions } from '../../../src/components/remote/sessions.ts';

test('two sessions of the same number, given out before and after a failover, have other versions', async () => {
  const connection = { openSession: async () => 7, commit: async () => [] };
  const link = { call: (_waitMs: number, work: (connection: object) => unknown) => Promise.resolve(work(connection)) };
  const firstVersion = async (): Promise<number> =>
    (await new Sessions(link as unknown as Link).commit([{}], { waitMs: 0 })).firstVersion;
  const versions = await Promise.all(Array.from({ length: 20 }, firstVersion));
  expect(new Set(versions).size).toBe(20);
  for (const version of versions) expect(Math.floor(version / 2 ** 21)).toBe(7);
});
