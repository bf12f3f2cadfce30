import { namePart } from '../../../state/keys.ts';
import { JobLayout } from '../../../timed/running/layout.ts';
import type { ActorAddress } from '../model/address.ts';
import { actorsRoot } from '../storage/layout.ts';

/** Which reminder or timer: its actor and its name. */
export interface TickName extends ActorAddress {
  readonly name: string;
}

/*
 * A reminder is stored as what is due is, see `timed/running/layout.ts`, under one text: `=<type>/<ID>/=<name>`. No name
 * has a slash. In keys, a long pair of type and ID and a long name are their digests, as `namePart` writes them: so the
 * first part is `actorPart`, whose hash is the shard, and all reminders of an actor are in one range.
 */

/** The text of a reminder or timer. */
export function textOf({ actorType, actorId, name }: TickName): string {
  return `=${actorType}/${actorId}/=${name}`;
}

/** What a text made by {@link textOf} names. */
export function tickNameOf(text: string): TickName {
  const [actorType = '', actorId = '', name = ''] = text.slice(1).split('/');
  return { actorType, actorId, name: name.slice(1) };
}

/** The form of a text in keys; that of such a form is itself. */
function keyPartOf(text: string): string {
  const [actor, name] = halvesOf(text);
  return `${namePartOf(actor)}/${namePartOf(name)}`;
}

/** The part of a text, or of its form in keys, that decides on the shard: `actorPart` of the actor. */
export function shardKeyOf(text: string): string {
  return namePartOf(halvesOf(text)[0]);
}

function halvesOf(text: string): readonly [actor: string, name: string] {
  const at = text.lastIndexOf('/');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** `=name` as `namePart` writes the name; a digest as it is. */
function namePartOf(part: string): string {
  return part.startsWith('=') ? namePart(part.slice(1)) : part;
}

/** The keys of an application's reminders. */
export function reminderLayout(appId: string): JobLayout {
  return new JobLayout([...actorsRoot(appId), 'reminders'], keyPartOf);
}
