import { expect, test } from 'vitest';
import type { StoredHost } from '../../src/cluster/hosts.ts';
import { Liveness } from '../../src/cluster/liveness.ts';
import { LocalHosts } from '../../src/cluster/local-hosts.ts';
import type { DualInstant } from '../../src/util/clock.ts';

const at = (ms: number): DualInstant => ({ wall: ms, monotonic: ms });
const host = (id: string, version: number): StoredHost => ({
  ...{ id, version, key: id, appId: 'shop', namespace: 'default', address: undefined, actorTypes: [], updatedAt: 0 },
});

test('a host that counts as dead does not hide when the next one will', () => {
  const liveness = new Liveness({
    local: new LocalHosts(),
    appId: 'shop',
    silenceMs: 10_000,
    areHostsLocal: () => false,
  });
  const table = { tableVersion: 0, tableEntryVersion: 'absent' } as const;
  liveness.observe({ ...table, hosts: [host('own', 1), host('a', 1), host('b', 1)] }, at(0));
  liveness.observe({ ...table, hosts: [host('own', 2), host('a', 1), host('b', 2)] }, at(4_000));
  expect(liveness.deadInMs(at(4_000), 'own')).toBe(6_000);
  expect(liveness.deadInMs(at(11_000), 'own')).toBe(3_000);
  expect(liveness.deadInMs(at(15_000), 'own')).toBe(Number.POSITIVE_INFINITY);
});
