import { eachOf } from '../../../util/each-of.ts';
import { checkOptions, invalidArgument, type OptionFields, WELL_FORMED, whole } from '../../../util/option-fields.ts';
import { inCode } from '../../in-code.ts';
import { checkTickName } from '../model/names.ts';
import { type ActorReminder, type ActorReminderInfo, reminderInfo, reminderWithData } from './reminder-info.ts';
import type { TickName } from './reminder-name.ts';
import type { FoundReminder, ReminderService } from './reminder-service.ts';

/** Which reminders to list. @public */
export interface ReminderListOptions {
  /** Only those of actors of this type. Default: of all types. */
  readonly type?: string | undefined;
  /** Only those of the actor with this ID; needs `type`. Default: of all actors. */
  readonly id?: string | undefined;
  /** The `cursor` of the previous page. */
  readonly cursor?: string | undefined;
  /** The maximum number of reminders in a page, 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
}

/** A page of reminders. @public */
export interface ReminderPage {
  /** The reminders, without their data; those of other types are left out, so that there may be none. */
  readonly reminders: readonly ActorReminderInfo[];
  /** The cursor for the next page; absent on the last page. */
  readonly cursor?: string;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
const LIST_FIELDS: OptionFields<ReminderListOptions> = {
  type: WELL_FORMED,
  id: WELL_FORMED,
  cursor: WELL_FORMED,
  limit: whole(1, MAX_LIMIT),
};

/** The dependencies of {@link Reminders}. */
export interface RemindersDeps {
  readonly service: ReminderService;
  /** Checks the names of an actor. */
  readonly check: (actor: Omit<TickName, 'name'>) => void;
}

/**
 * The reminders of all actors of the application, on whichever host they are, from outside. Actors set their own ones by
 * {@link Actor.reminders}, applications theirs over HTTP.
 *
 * @public
 */
export class Reminders {
  readonly #deps: RemindersDeps;

  /** @internal */
  constructor(deps: RemindersDeps) {
    this.#deps = deps;
  }

  /**
   * The reminders, those of one actor together, for `for await`; without their data.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for options that cannot be understood, `ERR_ACTOR_REMINDER_GET` when the
   * store fails; with the first reminder.
   * @example
   * ```ts
   * for await (const { actorId, name, nextRunAt } of sidecar.actors.reminders.list({ type: 'Cart' }))
   *   console.log(actorId, name, new Date(nextRunAt));
   * ```
   */
  list(options: Pick<ReminderListOptions, 'type' | 'id'> = {}): AsyncIterable<ActorReminderInfo> {
    return eachOf(async (cursor) => {
      const { type, id } = LIST_FIELDS;
      checkOptions('options of list', options, { type, id }, invalidArgument);
      const { reminders, cursor: next } = await this.listPage({ ...options, cursor });
      return { items: reminders, cursor: next };
    });
  }

  /**
   * A part of the reminders, as {@link Reminders.list} lists them.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for options that cannot be understood, `ERR_ACTOR_REMINDER_GET` when the
   * store fails.
   */
  async listPage(options: ReminderListOptions = {}): Promise<ReminderPage> {
    checkOptions('options of listPage', options, LIST_FIELDS, invalidArgument);
    const { type, id, cursor, limit = DEFAULT_LIMIT } = options;
    if (type === undefined && id !== undefined)
      throw invalidArgument(`id is ${JSON.stringify(id)}: expected type beside it`, 'options.id');
    const address = type === undefined || id === undefined ? undefined : { actorType: type, actorId: id };
    try {
      if (address !== undefined) this.#deps.check(address);
      const { reminders, next } = await this.#deps.service.list(address, cursor, limit);
      const ofType = reminders.filter(({ name }) => type === undefined || name.actorType === type);
      return { reminders: ofType.map(infoOf), ...(next === undefined ? undefined : { cursor: next }) };
    } catch (error) {
      throw inCode(error);
    }
  }

  /**
   * A reminder of an actor, with its data; `undefined` if it was never set, or has ended.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for bad names, `ERR_ACTOR_REMINDER_GET` when the store fails.
   */
  async get(type: string, id: string, name: string): Promise<ActorReminder | undefined> {
    const found = await this.inspect(type, id, name);
    return found && reminderWithData(found.reminder, found.data);
  }

  /** A reminder with its data as JSON text, digit for digit. @internal */
  inspect(
    type: string,
    id: string,
    name: string,
  ): Promise<{ readonly reminder: ActorReminderInfo; readonly data: string | undefined } | undefined> {
    return this.#with(type, id, name, async (service, of) => {
      const found = await service.find(of);
      return found && { reminder: infoOf(found), data: found.data };
    });
  }

  /**
   * Has a reminder call its actor now, whatever its times; answers whether there is such a reminder. If its last attempt
   * has failed and waits to be retried, it is retried now; else the call is one more, and its times and counts stay.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for bad names, `ERR_ACTOR_REMINDER_CREATE`: 409 when it runs or is due
   * already, 500 when the store fails.
   * @example
   * ```ts
   * await sidecar.actors.reminders.run('Cart', 'alice', 'expire');
   * ```
   */
  run(type: string, id: string, name: string): Promise<boolean> {
    return this.#with(type, id, name, (service, of) => service.run(of));
  }

  /**
   * Deletes a reminder; answers whether there was one. A call that is under way ends; none begins after this.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for bad names, `ERR_ACTOR_REMINDER_DELETE` when the store fails.
   */
  delete(type: string, id: string, name: string): Promise<boolean> {
    return this.#with(type, id, name, (service, of) => service.delete(of));
  }

  async #with<T>(
    actorType: string,
    actorId: string,
    name: string,
    work: (service: ReminderService, name: TickName) => Promise<T>,
  ): Promise<T> {
    try {
      this.#deps.check({ actorType, actorId });
      checkTickName('reminder', name);
      return await work(this.#deps.service, { actorType, actorId, name });
    } catch (error) {
      throw inCode(error);
    }
  }
}

function infoOf({ job, nextRunAt }: FoundReminder): ActorReminderInfo {
  return reminderInfo(job, nextRunAt);
}
