import { expect, test } from 'vitest';
import { Instances } from '../../../../src/blocks/invocation/resolution/instances.ts';
import { HostRegistry } from '../../../../src/blocks/invocation/resolution/registry.ts';
import type { Membership } from '../../../../src/cluster/membership.ts';
import { SteppedClock } from '../../../support/stepped-clock.ts';

test('hosts are read again after a second although the clock was set back', async () => {
  const clock = new SteppedClock();
  let address = 'http://10.0.0.1:1';
  const host = {
    local: { revision: 1, offeredBy: () => undefined },
    hosts: async () => ({ hosts: [{ id: address, appId: 'billing', namespace: 'default', address }] }),
  } as unknown as Membership;
  const registry = new HostRegistry(host, clock);
  const instances = new Instances(clock, Math.random);
  const ids = async () => (await registry.find('billing.default', instances)).map(({ id }) => id);
  const first = await ids();
  address = 'http://10.0.0.2:1';
  expect(await ids()).toEqual(first);
  clock.step(-3_600_000);
  await clock.time.advance('2s');
  expect(await ids()).not.toEqual(first);
});
