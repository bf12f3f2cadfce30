import { expect, test } from 'vitest';
import { watchHosts } from '../../src/cluster/other-hosts.ts';
import { StoreView } from '../../src/cluster/store-view.ts';
import { Sidecar } from '../../src/index.ts';
import { keyOf } from '../../src/state/keys.ts';
import { patientClock } from '../support/clock.ts';
import { KeptStore } from '../support/kept-store.ts';
import { RecordingLogger } from '../support/logger.ts';

/** A store that several processes may have open. */
class Shared extends StoreView {
  override get isExclusive(): boolean {
    return false;
  }
}

/** A store with the record that a host of an application has left behind. */
async function leftBehind(appId: string): Promise<KeptStore> {
  const store = new KeptStore();
  const sidecar = new Sidecar({ appId, state: store, logger: new RecordingLogger() });
  await sidecar.start();
  return store;
}

test('a host that has left its record behind is dead after 20 s, and is waited for only if it is meant', async () => {
  const store = new Shared((await leftBehind('shop')).memory);
  expect(await store.scan({ from: keyOf('hosts') })).not.toEqual([]);
  const clock = patientClock();
  const waits: number[] = [];
  const deps = { store, clock, onWaiting: (hosts: number) => void waits.push(hosts) };
  expect(await watchHosts({ ...deps, isMeant: ({ appId }) => appId === 'bank' })).toEqual({ alive: [], dead: [] });
  const watching = watchHosts({ ...deps, isMeant: ({ appId }) => appId === 'shop' });
  await clock.advance('20s');
  expect(await watching).toMatchObject({ alive: [], dead: [{ appId: 'shop' }] });
  expect(waits).toHaveLength(20);
});
