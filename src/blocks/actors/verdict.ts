import { isSidecarError } from '../../errors.ts';
import type { Ending } from '../../probe.ts';
import type { Verdict } from '../../resiliency/policy.ts';
import { ActorMoved } from './model/errors.ts';
import type { TickOutcome } from './model/tick.ts';

/** A call that was not made says nothing about the actor. */
export function verdictOf(outcome: { readonly value: unknown } | { readonly error: unknown }): Verdict {
  if ('value' in outcome || outcome.error instanceof ActorMoved) return 'success';
  const isOfSidecar =
    isSidecarError(outcome.error) && (outcome.error.code !== 'ERR_ACTOR_INVOKE_METHOD' || outcome.error.status === 503);
  return isOfSidecar ? 'failure' : 'retry';
}

/** How a tick has ended, for the probe. */
export function endingOf(outcome: TickOutcome): Ending {
  return outcome.kind === 'done' ? {} : { failure: outcome };
}
