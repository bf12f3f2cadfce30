import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';

/** What a component gets from the sidecar that opens it. @public */
export interface ComponentContext {
  /** Where to take time from. */
  readonly clock: Clock;
  /** Where to log to. */
  readonly logger: Logger;
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
