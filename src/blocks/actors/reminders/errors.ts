import { messageOf, SidecarError } from '../../../errors.ts';
import type { TickName } from './reminder-name.ts';

/** What the store could not do with a reminder. */
export type ReminderOperation = 'create' | 'get' | 'delete';

const CODES = {
  create: 'ERR_ACTOR_REMINDER_CREATE',
  get: 'ERR_ACTOR_REMINDER_GET',
  delete: 'ERR_ACTOR_REMINDER_DELETE',
} as const;

function titleOf({ actorType, actorId, name }: TickName): string {
  const [type, id, quoted] = [actorType, actorId, name].map((one) => JSON.stringify(one));
  return `reminder ${quoted} of actor ${id} of type ${type}`;
}

export function reminderNotFound(name: TickName): SidecarError {
  return new SidecarError('ERR_ACTOR_REMINDER_NOT_FOUND', `there is no ${titleOf(name)}, or it has ended`);
}

export function reminderExists(name: TickName): SidecarError {
  const problem = `${titleOf(name)} exists already: expected overwrite: true to replace it`;
  return new SidecarError('ERR_ACTOR_REMINDER_ALREADY_EXISTS', problem);
}

/** A run was asked for while the reminder runs or waits for its turn. */
export function reminderRuns(name: TickName): SidecarError {
  const problem = `${titleOf(name)} runs, or is due already: expected one that waits for its time`;
  return new SidecarError('ERR_ACTOR_REMINDER_CREATE', problem, { status: 409 });
}

/** The store failed, or the actor belongs to another host by now. */
export function reminderFailed(operation: ReminderOperation, cause: unknown, name?: TickName): SidecarError {
  const what = name === undefined ? 'reminders' : titleOf(name);
  return new SidecarError(CODES[operation], `failed to ${operation} ${what}: ${messageOf(cause)}`, { cause });
}
