import type { Shards } from '../../cluster/shards.ts';
import type { StateStore } from '../../state/store.ts';
import { ANYTHING, checkOptions, choice, LIMIT, type OptionFields } from '../../util/option-fields.ts';
import { ACCESS_FIELDS } from '../access-fields.ts';
import { BrokerAccess } from '../broker-access.ts';
import type { ComponentContext } from '../component.ts';
import type { PubSubDefinition, TopicScopes } from '../pubsub.ts';
import { checkRetention, type DeadLetterRetention } from '../retention.ts';
import { TOPIC_WILDCARDS, TopicPatterns, type TopicWildcards } from '../topic-patterns.ts';
import { DurableBroker } from './durable-broker.ts';

/** Options of {@link durablePubSub}. @public */
export interface DurablePubSubOptions extends TopicScopes {
  /** App IDs that may use the component. Default: all. */
  readonly scopes?: readonly string[] | undefined;
  /**
   * The most messages in the queue of a group, waiting or in flight: a publish beyond that fails, to all groups. Dead
   * letters are taken all the same. Several hosts may exceed it by what they publish at once. Default: no limit.
   */
  readonly maxQueueMessages?: number | undefined;
  /** How long dead letters are kept while their topic has no subscription. */
  readonly deadLetterRetention?: DeadLetterRetention | undefined;
  /** The wildcards of the topics that are subscribed to; the same in every process. Default: `suffix`. */
  readonly wildcards?: TopicWildcards | undefined;
}

const FIELDS: OptionFields<DurablePubSubOptions> = {
  ...ACCESS_FIELDS,
  maxQueueMessages: LIMIT,
  wildcards: choice(...TOPIC_WILDCARDS),
  // `checkRetention` does.
  deadLetterRetention: ANYTHING,
};

/**
 * A pub/sub component in the sidecar's state store, as durable as that store. With `embeddedState({ path })` a publish
 * resolves when the message is on disk, and messages, attempt counts and retries survive a restart of the process.
 *
 * A subscription to `orders*` receives what is published to every topic that begins so, or matches as `wildcards` says.
 *
 * A group begins with its first subscription. It receives every message published from then on, and keeps unsettled
 * messages even while it has no consumers. A message on a topic without groups is dropped. There is one exception:
 * until the subscriptions of all sidecars with a component of this name on one `sharedState` are known, messages are
 * kept for groups that are still to come (10,000 messages or 16 MiB, two minutes). A message may have up to 8 MiB.
 *
 * @param name - by which requests address it; not `bulk`
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @public
 */
export function durablePubSub(name: string, options: DurablePubSubOptions = {}): PubSubDefinition {
  const what = `options of durablePubSub ${JSON.stringify(name)}`;
  checkOptions(what, options, FIELDS);
  const {
    scopes,
    maxQueueMessages = Number.POSITIVE_INFINITY,
    wildcards = 'suffix',
    deadLetterRetention,
    ...topics
  } = options;
  const retention = checkRetention(deadLetterRetention, what);
  // One broker for each host: hosts share queues even across processes. Without hosts, one for each store.
  const brokers = new WeakMap<Shards | StateStore, Promise<DurableBroker>>();
  const brokerOf = (context: ComponentContext): Promise<DurableBroker> => {
    const user = context.shards ?? context.state;
    const known = brokers.get(user);
    if (known !== undefined) return known;
    const opened = DurableBroker.open(name, context, {
      maxQueueMessages,
      retention,
      patterns: new TopicPatterns(wildcards),
    });
    brokers.set(user, opened);
    opened.catch(() => brokers.delete(user));
    return opened;
  };
  return {
    name,
    type: 'pubsub.durable',
    version: 'v1',
    topics,
    limits: ['order', 'perKey', 'rate'],
    ...(scopes === undefined ? {} : { scopes }),
    open: async (context) => new BrokerAccess(await brokerOf(context), context),
  };
}
