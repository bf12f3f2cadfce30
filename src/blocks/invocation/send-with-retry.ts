import { isSidecarError } from '../../errors.ts';
import { isUntouched } from '../../http/body.ts';
import {
  cancelTokenOf,
  leaveBody,
  PlainRequest,
  requestTarget,
  type SidecarRequest,
  type SidecarResponse,
} from '../../http/message.ts';
import type { AttemptOutcome, Policy, Verdict } from '../../resiliency/policy.ts';
import { CancelSource, type CancelToken, cancelWith } from '../../util/cancel-token.ts';
import { type Clock, sleep } from '../../util/clock.ts';
import type { Work } from '../../util/work.ts';
import type { Destination } from './destination.ts';

/** How often, and how far apart, a call is repeated of which nothing has reached the target. */
const UNREACHED = { retries: 3, delayMs: 1_000 };

/** What attempts need of their surroundings. */
export interface AttemptDeps {
  readonly clock: Clock;
  readonly work: Work;
}

/**
 * Sends a request until there is an answer or no further attempt is due. Without a policy that is tried again of which
 * nothing has reached the target, as long as its body can still be sent.
 */
export async function sendUntilAnswered(
  destination: Destination,
  request: SidecarRequest,
  deps: AttemptDeps,
): Promise<SidecarResponse> {
  for (let retries = 0; ; retries++) {
    const done = deps.work.begin(`invocation ${request.method} ${request.path}`);
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

/** Sends a request as a policy says. What the last attempt gave is the result, whatever its status. */
export function sendByPolicy(
  destination: Destination,
  request: SidecarRequest,
  policy: Policy,
): Promise<SidecarResponse> {
  let before: SidecarResponse | undefined;
  const judge = (outcome: AttemptOutcome<SidecarResponse>): Verdict => {
    const verdict = 'value' in outcome ? policy.verdictOf(outcome.value.status) : verdictOn(outcome.error);
    return verdict === 'retry' && !isUntouched(request.body) ? 'failure' : verdict;
  };
  return policy.run(
    cancelTokenOf(request),
    async (cancelToken) => {
      if (before !== undefined) leaveBody(before.body);
      const { method, path, search, headers, body } = request;
      const either = eitherOf(cancelToken, cancelTokenOf(request));
      before = await destination.send(new PlainRequest(method, requestTarget(path, search), headers, body, either));
      return before;
    },
    judge,
  );
}

/** That of the attempt ends with it, and an answer may be read for long after that. */
function eitherOf(attempt: CancelToken, call: CancelToken): CancelToken {
  if (attempt === call) return call;
  const either = new CancelSource();
  cancelWith(either, attempt);
  cancelWith(either, call);
  return either;
}

/** What was refused is refused again. */
function verdictOn(error: unknown): Verdict {
  return isSidecarError(error) && error.status < 500 ? 'failure' : 'retry';
}
