import { type OptionFields, TEXTS, TEXTS_BY_APP } from '../util/option-fields.ts';
import type { TopicScopes } from './pubsub.ts';

/** The applications that may use a component, and the topics that they may use. */
interface Access extends TopicScopes {
  readonly scopes?: readonly string[];
}

/** The fields that all pub/sub components have. A wrong one would leave topics open that should be closed. */
export const ACCESS_FIELDS: OptionFields<Access> = {
  scopes: TEXTS,
  publishingScopes: TEXTS_BY_APP,
  subscriptionScopes: TEXTS_BY_APP,
  allowedTopics: TEXTS,
  protectedTopics: TEXTS,
};
