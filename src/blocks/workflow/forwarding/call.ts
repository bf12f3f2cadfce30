import type { ErrorCode } from '../../../errors.ts';
import type { InstanceView } from '../model/instance.ts';
import type { InstanceWork } from '../operations/work.ts';

/** A call for an instance of another host. */
export interface ForwardedCall {
  /** Names the receipt that whoever does the work leaves in the store, so that it is done once. */
  readonly key: string;
  readonly instanceId: string;
  readonly work: InstanceWork;
}

/** Calls that go to a host together. */
export interface CallBatch {
  readonly calls: readonly ForwardedCall[];
  /** The keys of earlier calls whose answers have come: nobody needs their receipts any more. */
  readonly answered: readonly string[];
}

/** The errors that an owner decides on. */
export type RefusalCode = Extract<ErrorCode, 'ERR_INSTANCE_ID_NOT_FOUND' | 'ERR_START_WORKFLOW'>;

/** What became of a call. After `unsure` it may have been done, or may be later. */
export type CallOutcome =
  | { readonly is: 'done' | 'not-done' | 'unsure' }
  | { readonly is: 'refused'; readonly code: RefusalCode; readonly message: string };

export const DONE: CallOutcome = { is: 'done' };
export const NOT_DONE: CallOutcome = { is: 'not-done' };
export const UNSURE: CallOutcome = { is: 'unsure' };

/** What a waiter waits for. */
export type AwaitedStatus = 'begun' | 'over';

/** A wait for an instance of another host. */
export interface ForwardedWait {
  readonly instanceId: string;
  readonly until: AwaitedStatus;
}

/** What became of the wait of an index: without a view the waiter has to look into the store. */
export interface WaitAnswer {
  readonly index: number;
  readonly view?: InstanceView | undefined;
}

/** A host that can be asked. */
export interface HostPeer {
  /** Does calls, those for one instance in their order. Rejects when what became of them is not known. */
  call(batch: CallBatch): Promise<readonly CallOutcome[]>;
  /** Answers waits as they end; ends when all are answered, or after a while. */
  wait(waits: readonly ForwardedWait[], signal: AbortSignal): AsyncIterable<WaitAnswer>;
}

/** How long a host is left alone that cannot be reached, and one that takes no calls. */
export const UNREACHABLE_MS = 5_000;
export const REFUSED_MS = 60_000;

/** A host does not take calls, and has done nothing. */
export class CallsRefused extends Error {
  /** How long there is no use in asking it for anything else. */
  readonly forMs: number;

  constructor(message: string, forMs: number, cause?: unknown) {
    super(message, { cause });
    this.forMs = forMs;
  }
}
