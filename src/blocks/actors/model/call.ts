import type { HeaderMap } from '../../../http/message.ts';
import type { CancelToken } from '../../../util/cancel-token.ts';

/** A timer is set, with the body of the request, or deleted. */
export type TimerOperation = 'set' | 'delete';

/** A call of a method of an actor. */
export interface ActorCall {
  /** One name, or a path of several; the name of the timer, if a timer is set or deleted. */
  readonly method: string;
  /** What is done where the actor lives, without a turn, in place of a call of a method. */
  readonly timer?: TimerOperation | undefined;
  /** The query as it came, without its question mark. */
  readonly search: string;
  /** The fields of the caller that are passed on. */
  readonly headers: HeaderMap;
  readonly body: Uint8Array;
  /** The chain of calls that it belongs to. */
  readonly chain: string | undefined;
  /** Cancels a call that waits for its turn. */
  readonly cancel: CancelToken;
}

/** Who calls, for the application: a name that was proved. */
export interface ActorCaller {
  readonly appId: string;
  readonly namespace: string;
}

/** The answer of an actor, with a status from 200 to 299. */
export interface ActorReply {
  readonly status: number;
  readonly headers: HeaderMap;
  readonly body: Uint8Array;
}
