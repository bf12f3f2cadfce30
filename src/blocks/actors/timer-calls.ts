import { EMPTY_BODY } from '../../http/message.ts';
import type { OwnedShards } from '../../kernel/owned-shards.ts';
import { NEVER } from '../../util/cancel-token.ts';
import { type ActorAddress, actorPart } from './model/address.ts';
import type { ActorCall, ActorReply, TimerOperation } from './model/call.ts';
import { ActorMoved } from './model/errors.ts';
import type { TimerService } from './reminders/timer-service.ts';
import type { ActiveActors } from './turns/active-actors.ts';

/** What a timer is changed by where its actor lives. */
export function timerCall(name: string, timer: TimerOperation, body: Uint8Array): ActorCall {
  return { method: name, timer, search: '', headers: {}, body, chain: undefined, cancel: NEVER };
}

/** Sets or deletes a timer of this host. @throws ActorMoved if the actor is elsewhere, or is being deactivated */
export function changeTimer(
  address: ActorAddress,
  { method: name, timer, body }: ActorCall,
  {
    owned,
    active,
    timers,
  }: { readonly owned: OwnedShards; readonly active: ActiveActors; readonly timers: TimerService },
): ActorReply {
  const actor = active.find(address);
  if (!owned.owns(actorPart(address)) || (actor?.closed !== undefined && actor.line.isFree)) throw new ActorMoved();
  if (timer === 'delete') timers.delete({ ...address, name });
  else timers.setFrom({ ...address, name }, Buffer.from(body));
  return { status: 204, headers: {}, body: EMPTY_BODY };
}
