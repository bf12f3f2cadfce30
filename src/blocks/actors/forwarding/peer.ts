import type { Caller } from '../../../security/identity.ts';
import type { ActorAddress } from '../model/address.ts';
import type { ActorCall, ActorReply } from '../model/call.ts';

/** Another host, or this one as others see it. */
export interface ActorPeer {
  /**
   * Calls an actor of that host; `undefined` if the actor is not there, and nothing was done.
   *
   * @throws SidecarError as the call of an actor throws it
   */
  call(address: ActorAddress, call: ActorCall, caller: Caller): Promise<ActorReply | undefined>;
}
