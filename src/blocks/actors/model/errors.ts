import { messageOf, SidecarError } from '../../../errors.ts';
import type { ActorAddress } from './address.ts';

/** An actor in messages. */
function nameOf({ actorType, actorId }: ActorAddress): string {
  return `actor ${JSON.stringify(actorId)} of type ${JSON.stringify(actorType)}`;
}

/** A call could not be made, or the actor has failed. */
export function invokeFailed(address: ActorAddress, reason: string, cause?: unknown): SidecarError {
  return new SidecarError('ERR_ACTOR_INVOKE_METHOD', `the call of ${nameOf(address)} failed: ${reason}`, { cause });
}

/** The call was made, and its answer is too long to be passed on. */
export function answerTooLarge(address: ActorAddress, limitBytes: number): SidecarError {
  const problem = `the answer of ${nameOf(address)} is too large: at most ${limitBytes} bytes are passed on`;
  return new SidecarError('ERR_BODY_TOO_LARGE', problem);
}

/** Too many calls wait for one actor. */
export function tooManyWaiting(address: ActorAddress, most: number): SidecarError {
  return new SidecarError('ERR_ACTOR_INVOKE_METHOD', `${most} calls wait for ${nameOf(address)} already`, {
    status: 503,
    headers: { 'retry-after': '1' },
  });
}

/** A chain of calls has come back to an actor too often. */
export function tooDeep(address: ActorAddress, maxStackDepth: number): SidecarError {
  return new SidecarError(
    'ERR_ACTOR_STACK_DEPTH',
    `a chain of calls has more than ${maxStackDepth} calls in ${nameOf(address)}`,
  );
}

/** No live application hosts the type. */
export function noAddress(address: ActorAddress, isDapr: boolean): SidecarError {
  const problem = 'no application that runs now hosts the type';
  if (isDapr) return invokeFailed(address, problem);
  return new SidecarError('ERR_ACTOR_NO_ADDRESS', `the call of ${nameOf(address)} failed: ${problem}`);
}

export function typeReserved(actorType: string): SidecarError {
  return new SidecarError(
    'ERR_ACTOR_TYPE_RESERVED',
    `actor type ${JSON.stringify(actorType)} is one of the workflow engine, and not for applications`,
  );
}

export function notActive(address: ActorAddress): SidecarError {
  return new SidecarError('ERR_ACTOR_INSTANCE_MISSING', `${nameOf(address)} is not active at this host`);
}

export function notHosted(actorType: string): SidecarError {
  return new SidecarError(
    'ERR_ACTOR_REMINDER_NON_HOSTED',
    `this application does not host the actor type ${JSON.stringify(actorType)}`,
  );
}

export function saveFailed(address: ActorAddress, reason: string, cause?: unknown): SidecarError {
  const message = `the state of ${nameOf(address)} was not written: ${reason}`;
  return new SidecarError('ERR_ACTOR_STATE_TRANSACTION_SAVE', message, { cause });
}

export function readFailed(address: ActorAddress, cause: unknown): SidecarError {
  const message = `the state of ${nameOf(address)} cannot be read: ${messageOf(cause)}`;
  return new SidecarError('ERR_ACTOR_STATE_GET', message, { cause });
}

/** The actor is not, or no longer, at this host, and nothing was done: the call belongs to the present owner. */
export class ActorMoved extends Error {
  override readonly name: string = 'ActorMoved';

  constructor() {
    super('the actor lives at another host');
  }
}
