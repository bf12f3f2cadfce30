import type { PubSubDefinition, TopicScopes } from '../components/pubsub.ts';
import type { MetadataSource } from './metadata-reader.ts';

/** A pub/sub component on a broker, as a resource file describes it. */
export interface BrokerResource extends MetadataSource {
  readonly name: string;
  readonly appId: string;
  readonly topics: TopicScopes;
}

/** Makes the component; `undefined` if there is a problem. */
export type MakeBrokerPubSub = (resource: BrokerResource) => PubSubDefinition | undefined;
