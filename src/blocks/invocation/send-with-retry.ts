import { isApiError } from '../../errors.ts';
import { isUntouched } from '../../http/body.ts';
import {
  cancelTokenOf,
  leaveBody,
  PlainRequest,
  requestTarget,
  type SidecarRequest,
  type SidecarResponse,
} from '../../http/message.ts';
import type { CallResult, Policy, Verdict } from '../../resiliency/policy.ts';
import { CancelSource, type CancelToken, cancelWith } from '../../util/cancel-token.ts';
import { type Clock, sleep } from '../../util/clock.ts';
import type { Work } from '../../util/work.ts';
import type { Destination } from './destination.ts';

/** Retries of a call that has not reached its target. */
const UNREACHED = { retries: 3, delayMs: 1_000 };

export interface AttemptDeps {
  readonly clock: Clock;
  readonly work: Work;
}

/** How often a request was sent. */
export interface Attempts {
  attempts: number;
}

/**
 * Sends a request until there is a response or no retry is left. Without a policy, only calls of which no part has
 * reached the target are retried, while their body can still be sent.
 */
export async function sendUntilAnswered(
  destination: Destination,
  request: SidecarRequest,
  deps: AttemptDeps,
  counted?: Attempts,
): Promise<SidecarResponse> {
  for (let retries = 0; ; retries++) {
    const done = deps.work.begin(`invocation ${request.method} ${request.path}`);
    if (counted !== undefined) counted.attempts++;
    try {
      return await destination.send(request);
    } catch (error) {
      const isOver = retries === UNREACHED.retries || cancelTokenOf(request).aborted;
      if (isOver || !destination.isUnreached(error) || !isUntouched(request.body)) throw error;
    } finally {
      done();
    }
    await sleep(deps.clock, UNREACHED.delayMs, cancelTokenOf(request));
  }
}

/** Sends a request under a policy. The result is that of the last attempt, whatever its status. */
export function sendByPolicy(
  destination: Destination,
  request: SidecarRequest,
  policy: Policy,
  counted?: Attempts,
): Promise<SidecarResponse> {
  let before: SidecarResponse | undefined;
  const judge = (outcome: CallResult<SidecarResponse>): Verdict => {
    const verdict = 'value' in outcome ? policy.verdictOf(outcome.value.status) : verdictOn(outcome.error);
    return verdict === 'retry' && !isUntouched(request.body) ? 'failure' : verdict;
  };
  const leave = (): void => {
    if (before !== undefined) leaveBody(before.body);
    before = undefined;
  };
  const result = policy.run(
    cancelTokenOf(request),
    async (cancelToken) => {
      leave();
      if (counted !== undefined) counted.attempts++;
      const { method, headers, body } = request;
      const either = eitherOf(cancelToken, cancelTokenOf(request));
      before = await destination.send(new PlainRequest(method, requestTarget(request), headers, body, either));
      return before;
    },
    judge,
  );
  // The circuit breaker may refuse the attempt that a response waits for: that response is dropped then.
  result.catch(leave);
  return result;
}

/** The attempt's token ends with the attempt, but the response may be read long after that. */
function eitherOf(attempt: CancelToken, call: CancelToken): CancelToken {
  if (attempt === call) return call;
  const either = new CancelSource();
  cancelWith(either, attempt);
  cancelWith(either, call);
  return either;
}

/** A rejected call would be rejected again, and so would one that is not supported. */
function verdictOn(error: unknown): Verdict {
  return isApiError(error) && (error.status < 500 || error.status === 501) ? 'failure' : 'retry';
}
