import type { Shards } from '../cluster/shards.ts';
import type { StateStore } from '../state/store.ts';
import type { Clock } from '../util/clock.ts';
import type { ExpectedOne } from '../util/expected.ts';
import type { Logger } from '../util/logger.ts';

/** What a component gets from the sidecar that opens it. @public */
export interface ComponentContext {
  /** Where to take time from. */
  readonly clock: Clock;
  /** Where to log to. */
  readonly logger: Logger;
  /** The sidecar's durable state. */
  readonly state: StateStore;
  /**
   * How the work of the app ID on that state is divided among its hosts. Absent: the component has the state for itself.
   */
  readonly shards?: Shards;
  /** Notes the start of work of the component's own, so that tests can wait for it; call what it returns at its end. */
  readonly track: (what: string) => () => void;
  /** The application, expected until its subscriptions are known. Absent: they are. @internal */
  readonly subscriber?: ExpectedOne;
  /** Tells of messages that went to no group, as their topic has none: they are gone. @internal */
  readonly noGroup?: (topic: string, messages: number) => void;
}

/** What is common to the definitions of all components. @public */
export interface ComponentDefinition {
  /** The name by which requests address it. */
  readonly name: string;
  /** The kind and technology, such as `pubsub.in-memory`. */
  readonly type: string;
  /** The version of the component type. */
  readonly version: string;
  /** App IDs that may use it. Default: all. */
  readonly scopes?: readonly string[];
}
