import { instantOf, instantPart, keyOf, namePart, partsOf, rangeOf } from '../../../state/keys.ts';
import type { KeyRange } from '../../../state/store.ts';
import { type ActorAddress, actorPart } from '../model/address.ts';

/*
 * The keys of an application's actors, below `actors / <app ID>`. An actor is one part of them, see `actorPart`, and its
 * shard is the hash of that part:
 *
 * - `state / <actor> / <key>`: a value of its state, with its key and the instant at which it ends
 * - `expiry / <instant> / <actor> / <key>`: when such a value is looked at, because it may have ended
 * - `reminders / …`: its reminders, as `timed/running/layout.ts` stores what is due, by the name `<actor>/<reminder>`
 */

/** The parts of all keys of an application's actors. */
export function actorsRoot(appId: string): readonly [string, string] {
  return ['actors', namePart(appId)];
}

/** The keys of the state of actors. */
export class ActorStateLayout {
  /** All instants at which values are looked at. */
  readonly expiryRange: KeyRange;
  readonly #root: readonly string[];
  readonly #state: string;
  readonly #expiry: string;

  constructor(appId: string) {
    this.#root = actorsRoot(appId);
    this.#state = keyOf(...this.#root, 'state');
    this.#expiry = keyOf(...this.#root, 'expiry');
    this.expiryRange = rangeOf(...this.#root, 'expiry');
  }

  /** The key of a value of an actor's state. */
  key(address: ActorAddress, name: string): string {
    return this.#state + keyOf(actorPart(address), namePart(name));
  }

  /** All values of an actor. */
  rangeOf(address: ActorAddress): KeyRange {
    return rangeOf(...this.#root, 'state', actorPart(address));
  }

  /** The entry by which a value is looked at. */
  expiry(at: number, address: ActorAddress, name: string): string {
    return this.#expiry + keyOf(instantPart(at), actorPart(address), namePart(name));
  }

  /** What the key of such an entry says: when, and which value of which actor. */
  expiryOf(key: string): { readonly at: number; readonly actor: string; readonly entry: string } {
    const [at = '', actor = '', name = ''] = partsOf(key).slice(-3);
    return { at: instantOf(at), actor, entry: this.#state + keyOf(actor, name) };
  }
}
