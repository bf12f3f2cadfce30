import { SHARD_COUNT } from '../../cluster/shards.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import type { HostsReply, SettingsReply } from '../api/settings.ts';
import { maskSecrets } from '../mask.ts';
import type { ApiRoute } from '../route.ts';
import { reads } from './define.ts';

/** The hosts of the store, and what a sidecar tells about itself. */
export function settingsRoutes(): readonly ApiRoute[] {
  return [
    reads(
      'hosts',
      [],
      async ({ placement }): Promise<HostsReply> => ({ hosts: await placement.hosts(), shardCount: SHARD_COUNT }),
    ),
    reads('settings', [], async (sidecar) => settingsOf(sidecar)),
  ];
}

/** Attributes of metadata and subscriptions are the application's own: values of secrets are masked there, too. */
function settingsOf(sidecar: Sidecar): SettingsReply {
  const settings: SettingsReply = {
    configuration: sidecar.settings(),
    health: sidecar.health.state(),
    breakers: sidecar.health.breakers(),
    metadata: sidecar.metadata.get(),
  };
  return JSON.parse(maskSecrets(JSON.stringify(settings)).text) as SettingsReply;
}
