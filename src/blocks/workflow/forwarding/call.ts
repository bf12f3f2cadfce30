import type { ErrorCode } from '../../../errors.ts';
import type { InstanceView } from '../model/instance.ts';
import type { InstanceWork } from '../operations/work.ts';

/** A call for an instance of another host. */
export interface ForwardedCall {
  /** Names the receipt in the store that makes the work happen only once, whether the owner or the caller does it. */
  readonly key: string;
  readonly instanceId: string;
  readonly work: InstanceWork;
}

/** The work that a host sends to another one together. */
export interface PeerRequest {
  /** Done in order per instance. */
  readonly calls: readonly ForwardedCall[];
  /** The keys of earlier calls that were answered: their receipts can be removed. */
  readonly answered: readonly string[];
  readonly waits: readonly ForwardedWait[];
  /** The IDs of earlier waits without a waiter. */
  readonly left: readonly number[];
}

/** The errors by which an owner refuses a call. */
export type RefusalCode = Extract<ErrorCode, 'ERR_INSTANCE_ID_NOT_FOUND' | 'ERR_START_WORKFLOW'>;

/** The outcome of a call. After `unsure`, it may have been done already, or may still be done. */
export type CallOutcome =
  | { readonly is: 'done' | 'not-done' | 'unsure' }
  | { readonly is: 'refused'; readonly code: RefusalCode; readonly message: string };

export const DONE: CallOutcome = { is: 'done' };
export const NOT_DONE: CallOutcome = { is: 'not-done' };
export const UNSURE: CallOutcome = { is: 'unsure' };

/** The status that a waiter waits for. */
export type AwaitedStatus = 'begun' | 'over';

/** A wait for an instance of another host. */
export interface ForwardedWait {
  /** Unique in its session. */
  readonly id: number;
  readonly instanceId: string;
  readonly until: AwaitedStatus;
}

/** The end of a wait. Without a view, the waiter has to read the store. */
export interface WaitAnswer {
  readonly id: number;
  readonly view?: InstanceView | undefined;
}

/** Gets the replies of another host. */
export interface PeerReplies {
  /** The outcomes of the calls of the oldest request whose outcomes are still missing. */
  outcomes(outcomes: readonly CallOutcome[]): void;
  answer(answer: WaitAnswer): void;
  /** The session is over: missing outcomes are unknown, and waits are no longer answered. */
  ended(error: unknown): void;
}

/** Requests to another host, one after the other. */
export interface PeerSession {
  send(request: PeerRequest): void;
  /** Ends the session and its waits. A second call is harmless. */
  close(): void;
}

/** Another host that does calls and answers waits. */
export interface HostPeer {
  /** Opens a session. Rejects if the host does not take calls. */
  open(replies: PeerReplies): Promise<PeerSession>;
}

/** How long calls to an unreachable host are suspended, and calls to a host that refuses them. */
export const UNREACHABLE_MS = 5_000;
export const REFUSED_MS = 60_000;

/** A host does not take calls. */
export class CallsRefused extends Error {
  /** How long to suspend further calls, in milliseconds. */
  readonly forMs: number;

  constructor(message: string, forMs: number, cause?: unknown) {
    super(message, { cause });
    this.forMs = forMs;
  }
}
