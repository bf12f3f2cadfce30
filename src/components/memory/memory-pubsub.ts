import { Expected } from '../../util/expected.ts';
import { ANYTHING, checkOptions, choice, LIMIT, type OptionFields } from '../../util/option-fields.ts';
import { ACCESS_FIELDS } from '../access-fields.ts';
import { BrokerAccess } from '../broker-access.ts';
import type { PubSubDefinition, TopicScopes } from '../pubsub.ts';
import { checkRetention, type DeadLetterRetention } from '../retention.ts';
import { TOPIC_WILDCARDS, type TopicWildcards } from '../topic-patterns.ts';
import { MemoryBroker } from './broker.ts';

/** Options of {@link memoryPubSub}. @public */
export interface MemoryPubSubOptions extends TopicScopes {
  /** App IDs that may use the component. Default: all. */
  readonly scopes?: readonly string[] | undefined;
  /** Max messages waiting or in flight, counted once per group. Default: 100,000. */
  readonly maxMessages?: number | undefined;
  /** Max bytes of their data. Default: 256 MiB. */
  readonly maxBytes?: number | undefined;
  /** The wildcards of the topics that are subscribed to. Default: `suffix`. */
  readonly wildcards?: TopicWildcards | undefined;
  /** How long dead letters without a subscriber are kept; they are removed when the next one comes. */
  readonly deadLetterRetention?: DeadLetterRetention | undefined;
}

const FIELDS: OptionFields<MemoryPubSubOptions> = {
  ...ACCESS_FIELDS,
  maxMessages: LIMIT,
  maxBytes: LIMIT,
  wildcards: choice(...TOPIC_WILDCARDS),
  // `checkRetention` does.
  deadLetterRetention: ANYTHING,
};
const DEFAULT_LIMITS = { maxMessages: 100_000, maxBytes: 256 * 1024 * 1024 };

/**
 * A pub/sub component in memory: its messages are lost when the process ends.
 *
 * A subscription to `orders*` receives what is published to every topic that begins so, or matches as `wildcards` says.
 *
 * Each app ID that subscribes to a topic is a group that receives every message published from then on; messages are
 * kept for the group until they are settled, even without consumers. Sidecars with the same definition share its
 * topics; until the subscriptions of all of them are known, published messages are kept for later groups (10,000
 * messages or 16 MiB, two minutes). When the limits are reached, groups without consumers are dropped with a warning,
 * but for kept dead letters; if that is not enough, publishing fails until messages are settled. Dead letters are taken
 * all the same: each takes the place of another message.
 *
 * @param name - the name used in requests; not `bulk`
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @public
 */
export function memoryPubSub(name: string, options: MemoryPubSubOptions = {}): PubSubDefinition {
  const what = `options of memoryPubSub ${JSON.stringify(name)}`;
  checkOptions(what, options, FIELDS);
  const {
    scopes,
    maxMessages = DEFAULT_LIMITS.maxMessages,
    maxBytes = DEFAULT_LIMITS.maxBytes,
    wildcards = 'suffix',
    deadLetterRetention,
    ...topics
  } = options;
  const retention = checkRetention(deadLetterRetention, what);
  const expected = new Expected();
  const broker = new MemoryBroker(name, { maxMessages, maxBytes, wildcards, retention }, expected);
  return {
    name,
    type: 'pubsub.in-memory',
    version: 'v1',
    topics,
    limits: ['order', 'perKey', 'rate'],
    ...(scopes === undefined ? {} : { scopes }),
    expected,
    open: async (context) => new BrokerAccess(broker, context),
  };
}
