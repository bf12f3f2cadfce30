import { keyOf, namePart, rangeOf } from '../../../state/keys.ts';
import type { KeyRange } from '../../../state/store.ts';
import { type ActorAddress, actorPart } from '../model/address.ts';

/*
 * The keys of an application's actors, below `actors / <app ID>`. An actor is one part of them, see `actorPart`, and its
 * shard is the hash of that part:
 *
 * - `state / <actor> / <key>`: a value of its state, with its key and the instant at which it ends
 * - `reminders / …`: its reminders, as `timed/running/layout.ts` stores what is due, by the name `<actor>/<reminder>`
 */

/** The parts of all keys of an application's actors. */
export function actorsRoot(appId: string): readonly [string, string] {
  return ['actors', namePart(appId)];
}

/** The keys of the state of actors. */
export class ActorStateLayout {
  readonly #root: readonly string[];
  readonly #state: string;

  constructor(appId: string) {
    this.#root = [...actorsRoot(appId), 'state'];
    this.#state = keyOf(...this.#root);
  }

  /** The key of a value of an actor's state. */
  key(address: ActorAddress, name: string): string {
    return this.#state + keyOf(actorPart(address), namePart(name));
  }

  /** All values of an actor. */
  rangeOf(address: ActorAddress): KeyRange {
    return rangeOf(...this.#root, actorPart(address));
  }
}
