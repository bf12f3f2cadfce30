import type { AppChannel } from './app/channel.ts';
import type { HealthSettings } from './app/health.ts';
import type {
  AppConnectionMetadata,
  AppHealthMetadata,
  ComponentMetadata,
  SubscriptionMetadata,
} from './blocks/metadata/metadata.ts';
import type { SubscriptionState } from './blocks/pubsub/subscriptions.ts';
import type { ComponentDefinition } from './components/component.ts';
import { formatGoDuration } from './util/duration.ts';

/** What the parts of a sidecar look like in metadata. */

/** Open components. */
export function describeComponents(components: readonly ComponentDefinition[]): readonly ComponentMetadata[] {
  return components.map(({ name, type, version }) => ({ name, type, version, capabilities: [] }));
}

/** Subscriptions, refused ones with the reason. */
export function describeSubscriptions(states: readonly SubscriptionState[]): readonly SubscriptionMetadata[] {
  return states.map(({ type, pubsubName, topic, spec, problem }) => ({
    pubsubname: pubsubName,
    topic,
    metadata: spec?.metadata ?? {},
    rules: spec?.rules ?? [],
    deadLetterTopic: spec?.deadLetterTopic ?? '',
    type,
    ...(problem === undefined ? {} : { error: problem }),
  }));
}

/** The connection to the application; the usual values without one. */
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
