import type { AppChannel } from '../app/channel.ts';
import type { HealthSettings } from '../app/health.ts';
import type { UnhandledJob } from '../blocks/jobs/running/unhandled.ts';
import type {
  AppConnectionMetadata,
  AppHealthMetadata,
  ComponentMetadata,
  StateMetadata,
  SubscriptionMetadata,
  UnhandledMetadata,
} from '../blocks/metadata/metadata.ts';
import type { SubscriptionState } from '../blocks/pubsub/delivery/precedence.ts';
import type { QueueRef } from '../blocks/pubsub/delivery/subscription-info.ts';
import type { UnsubscribedTopic } from '../blocks/pubsub/publishing/unsubscribed.ts';
import type { DescribedStore } from '../blocks/stores.ts';
import type { ComponentDefinition } from '../components/component.ts';
import type { StateStore } from '../state/store.ts';
import { formatGoDuration } from '../util/duration.ts';

/** Converts the parts of a sidecar to metadata. */

/** Open components. */
export function describeComponents(components: readonly ComponentDefinition[]): readonly ComponentMetadata[] {
  return components.map(({ name, type, version }) => ({ name, type, version, capabilities: [] }));
}

/** Open stores. */
export function describeStores(stores: readonly DescribedStore[]): readonly ComponentMetadata[] {
  return stores.map(({ definition: { name, type, version }, capabilities }) => ({ name, type, version, capabilities }));
}

/** Subscriptions; rejected ones with the reason. */
export function describeSubscriptions(states: readonly SubscriptionState[]): readonly SubscriptionMetadata[] {
  return states.map(({ type, pubsubName, topic, group, spec, problem }) => ({
    pubsubname: pubsubName,
    topic,
    metadata: spec?.metadata ?? {},
    rules: spec?.rules ?? [],
    deadLetterTopic: spec?.deadLetterTopic ?? '',
    type,
    ...(group === '' ? {} : { group }),
    ...(problem === undefined ? {} : { error: problem }),
  }));
}

/** The state store; `undefined` for state in memory. */
export function describeState(type: string, store: StateStore | undefined): StateMetadata | undefined {
  return type === 'memory' ? undefined : { type, durability: store?.durability ?? 'unknown' };
}

/** Messages and jobs without a receiver; empty lists are left out. */
export function describeUnhandled(
  topics: readonly UnsubscribedTopic[],
  abandoned: readonly (QueueRef & { readonly messages: number })[],
  jobs: readonly UnhandledJob[],
): UnhandledMetadata {
  const messages = topics.map(({ pubsubName, topic, count }) => ({ pubsubname: pubsubName, topic, count }));
  const groups = abandoned.map(({ pubsubName: pubsubname, topic, group, messages: count }) => ({
    pubsubname,
    topic,
    group,
    count,
  }));
  return {
    ...(messages.length === 0 ? {} : { messages }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(jobs.length === 0 ? {} : { jobs }),
  };
}

/** The connection to the application; default values without one. */
export function describeConnection(
  app: AppChannel | undefined,
  health: HealthSettings | undefined,
): AppConnectionMetadata {
  const { host, port, protocol } = app?.address ?? { host: '127.0.0.1', protocol: 'http' };
  return {
    ...(port === undefined ? {} : { port }),
    protocol,
    channelAddress: host,
    maxConcurrency: app?.maxConcurrency ?? -1,
    ...(health === undefined ? {} : { health: describeHealth(health) }),
  };
}

function describeHealth({ path, intervalMs, timeoutMs, threshold }: HealthSettings): AppHealthMetadata {
  return {
    healthCheckPath: path,
    healthProbeInterval: formatGoDuration(intervalMs),
    healthProbeTimeout: formatGoDuration(timeoutMs),
    healthThreshold: threshold,
  };
}
