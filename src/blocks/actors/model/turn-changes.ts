import type { Precondition, Put } from '../../../state/store.ts';

/**
 * A part of the commit that ends a turn of an actor in code. The turn adds the fence of the actor's shard. If a
 * precondition does not hold, the parts are prepared and committed once more.
 */
export interface TurnPart {
  readonly require: readonly Precondition[];
  readonly put: readonly Put[];
  readonly delete: readonly string[];
  /** Called once the commit is durable, with the version of its entries. */
  readonly committed: (version: number) => void;
}
