import { SidecarError } from '../../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import type { InstanceView } from '../model/instance.ts';
import type { WorkflowWaitOptions } from '../operations/completions.ts';
import { doHere } from '../operations/operations.ts';
import {
  type AwaitedStatus,
  type CallOutcome,
  DONE,
  type ForwardedCall,
  type HostPeer,
  NOT_DONE,
  type PeerReplies,
  type PeerSession,
  UNSURE,
} from './call.ts';
import { InboundSession } from './inbound-session.ts';
import type { Receipts } from './receipts.ts';
import { refusalOf } from './refusal.ts';

/** The dependencies of {@link InboundCalls}. */
export interface InboundCallsDeps {
  readonly engine: Engine;
  readonly receipts: Receipts;
  /** Throws when no calls are accepted. */
  readonly admit: () => void;
  /** Waits for an instance of this host; rejects when another host owns it. */
  readonly waitHere: (id: string, until: AwaitedStatus, options: WorkflowWaitOptions) => Promise<InstanceView>;
}

/** Handles calls and waits of other hosts of the application for instances of this one. */
export class InboundCalls implements HostPeer {
  readonly #deps: InboundCallsDeps;
  readonly #sessions = new Set<InboundSession>();
  readonly #underWay = new Set<string>();
  #isStopping = false;

  constructor(deps: InboundCallsDeps) {
    this.#deps = deps;
  }

  async open(replies: PeerReplies): Promise<PeerSession> {
    const { receipts, waitHere } = this.#deps;
    if (!this.#isOpen) throw new SidecarError('ERR_SHUTTING_DOWN', 'this host takes no calls of others');
    const session = new InboundSession({
      replies,
      do: (call) => this.#do(call),
      wait: async ({ id, instanceId, until }, signal) => ({ id, view: await waitHere(instanceId, until, { signal }) }),
      release: (answered) => receipts.release(answered),
      onClose: () => this.#sessions.delete(session),
    });
    this.#sessions.add(session);
    return session;
  }

  async #do({ key, instanceId, work }: ForwardedCall): Promise<CallOutcome> {
    const { engine, receipts } = this.#deps;
    if (!this.#isOpen) return NOT_DONE;
    // A turn can write a receipt only once.
    if (this.#underWay.has(key)) return UNSURE;
    this.#underWay.add(key);
    try {
      const receipt = engine.store.layout.receipt(instanceId, key);
      if (!(await doHere(engine, instanceId, { work, receipt }))) return NOT_DONE;
      receipts.add(key, receipt);
      return DONE;
    } catch (error) {
      return refusalOf(error, work) ?? UNSURE;
    } finally {
      this.#underWay.delete(key);
    }
  }

  get #isOpen(): boolean {
    try {
      this.#deps.admit();
      return !this.#isStopping;
    } catch {
      return false;
    }
  }

  /** Accepts no more calls, and ends all sessions, so that waiters turn to another host. */
  stop(): void {
    this.#isStopping = true;
    for (const session of [...this.#sessions]) session.stop();
  }
}
