import type { BreakerInfo, HealthState, HostInfo, MetadataDocument } from '../../index.ts';

/** `GET hosts` */
export interface HostsReply {
  readonly hosts: readonly HostInfo[];
  readonly shardCount: number;
}

/** `GET settings` */
export interface SettingsReply {
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly health: HealthState;
  readonly breakers: readonly BreakerInfo[];
  readonly metadata: MetadataDocument;
}
