import type { ActiveActorInfo, ActorReminderInfo } from '../../index.ts';
import type { PayloadView } from './apps.ts';

export type { ActiveActorInfo, ActorReminderInfo } from '../../index.ts';

/** `GET actors?type=&limit=`: of this process. */
export interface ActorsReply {
  /** The types that it hosts, in alphabetical order. */
  readonly types: readonly { readonly actorType: string; readonly active: number }[];
  /** Active actors, those with waiting calls first. */
  readonly actors: readonly ActiveActorInfo[];
  /** How many more are active. */
  readonly more: number;
}

/** `GET actors/one?type=&id=` */
export interface ActorReply {
  /** Absent if it is not active in this process. */
  readonly active?: Pick<ActiveActorInfo, 'calls' | 'waiting'>;
  readonly state: readonly ActorValueView[];
  /** How many more values there are, at least. */
  readonly more: number;
}

/** A value of the state of an actor. */
export interface ActorValueView {
  readonly key: string;
  /** When it ends; absent if it does not. */
  readonly expiresAt?: number;
  readonly value: PayloadView;
}

/** `GET actors/reminders?type=&id=&cursor=&limit=` */
export interface RemindersReply {
  readonly reminders: readonly ActorReminderInfo[];
  readonly cursor?: string;
}

/** `GET actors/reminders/one?type=&id=&name=` */
export interface ReminderReply {
  readonly reminder: ActorReminderInfo;
  readonly data?: PayloadView;
}

/** `POST actors/reminders/run`, `actors/reminders/delete`: answers a {@link ChangedReply}. */
export interface ReminderBody {
  readonly type: string;
  readonly id: string;
  readonly name: string;
}
