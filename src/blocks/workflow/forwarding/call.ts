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

/** Calls sent to a host together. */
export interface CallBatch {
  readonly calls: readonly ForwardedCall[];
  /** The keys of earlier calls that were answered: their receipts can be removed. */
  readonly answered: readonly string[];
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
  readonly instanceId: string;
  readonly until: AwaitedStatus;
}

/** The outcome of the wait at an index. Without a view, the waiter has to read the store. */
export interface WaitAnswer {
  readonly index: number;
  readonly view?: InstanceView | undefined;
}

/** Another host that does calls and answers waits. */
export interface HostPeer {
  /** Does calls, in order per instance. Rejects when their outcomes are unknown. */
  call(batch: CallBatch): Promise<readonly CallOutcome[]>;
  /** Yields answers as waits end, those of one turn together; ends when all are answered, or after a time limit. */
  wait(waits: readonly ForwardedWait[], signal: AbortSignal): AsyncIterable<readonly WaitAnswer[]>;
}

/** How long calls to an unreachable host are suspended, and calls to a host that refuses them. */
export const UNREACHABLE_MS = 5_000;
export const REFUSED_MS = 60_000;

/** A host refused the calls or could not be reached: it has done none of them. */
export class CallsRefused extends Error {
  /** How long to suspend further calls, in milliseconds. */
  readonly forMs: number;

  constructor(message: string, forMs: number, cause?: unknown) {
    super(message, { cause });
    this.forMs = forMs;
  }
}
