import { namePart } from '../../../state/keys.ts';

/** Which actor: its type and its ID. Names contain no slash, so a pair is never mistaken for another one. */
export interface ActorAddress {
  readonly actorType: string;
  readonly actorId: string;
}

/**
 * An actor as one part of a key, and as the text whose hash is its shard: all of an actor, its state and its reminders,
 * is in one shard. A long pair is replaced by its digest, and the values name the actor then.
 */
export function actorPart({ actorType, actorId }: ActorAddress): string {
  return namePart(`${actorType}/${actorId}`);
}
