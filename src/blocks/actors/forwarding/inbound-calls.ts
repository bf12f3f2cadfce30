import { SidecarError } from '../../../errors.ts';
import type { AccessControl } from '../../../security/access-control.ts';
import type { Caller } from '../../../security/identity.ts';
import type { ActorAddress } from '../model/address.ts';
import type { ActorCall, ActorCaller, ActorReply } from '../model/call.ts';
import { ActorMoved, invokeFailed, notHosted } from '../model/errors.ts';
import { checkAddress, checkMethod, checkTickName } from '../model/names.ts';
import type { ActorPeer } from './peer.ts';

/** The dependencies of {@link InboundActorCalls}. */
export interface InboundActorCallsDeps {
  readonly own: Caller;
  readonly accessControl: AccessControl | undefined;
  /** Calls an actor of this host. @throws ActorMoved if it is not here */
  readonly callHere: (address: ActorAddress, call: ActorCall, caller: ActorCaller) => Promise<ActorReply>;
}

/** Does the calls of other hosts whose caller is proved: hosts of this application, and other applications. */
export class InboundActorCalls implements ActorPeer {
  readonly #deps: InboundActorCallsDeps;
  #isStopped = false;

  constructor(deps: InboundActorCallsDeps) {
    this.#deps = deps;
  }

  /** Whether this host stops: nothing is called here any more. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  async call(address: ActorAddress, call: ActorCall, caller: Caller): Promise<ActorReply | undefined> {
    checkAddress(address);
    if (call.timer === undefined) checkMethod(call.method);
    else checkTickName('timer', call.method);
    this.#checkAccess(address, call, caller);
    if (this.#isStopped) return undefined;
    try {
      return await this.#deps.callHere(address, call, caller);
    } catch (error) {
      if (error instanceof ActorMoved) return undefined;
      throw error;
    }
  }

  #checkAccess(address: ActorAddress, { method, timer }: ActorCall, caller: Caller): void {
    const { own, accessControl } = this.#deps;
    const { appId, namespace, trustDomain } = caller;
    if (appId === own.appId && namespace === own.namespace && trustDomain === own.trustDomain) return;
    // Only the application that hosts a type has its timers.
    if (timer !== undefined) throw notHosted(address.actorType);
    const path = `/actors/${address.actorType}/${address.actorId}/method/${method}`;
    const isAllowed =
      accessControl === undefined
        ? namespace === own.namespace
        : accessControl.check({ caller, verb: 'PUT', path }) === 'allow';
    if (isAllowed) return;
    const { message } = invokeFailed(address, `${appId} of namespace ${namespace} is not allowed to call ${path}`);
    throw new SidecarError('ERR_ACTOR_INVOKE_METHOD', message, { status: 403 });
  }

  /** Calls that come now belong elsewhere. */
  stop(): void {
    this.#isStopped = true;
  }
}
