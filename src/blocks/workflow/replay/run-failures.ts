import { FOREIGN_AWAIT, failureBecause, UNHANDLED_BRANCH, type WorkflowFailure } from '../model/failure.ts';

const ADVICE = 'move timers, input and output into activities, and wait only for promises of ctx';

/** A foreign promise woke the code. */
export function strayFailure(what: string): WorkflowFailure {
  const message = `${what} after it waited for a promise that is not its context’s: ${ADVICE}`;
  return { errorType: FOREIGN_AWAIT, message };
}

/** None of its tasks can wake the waiting code. */
export function hangFailure(): WorkflowFailure {
  const message = `the workflow waits for a promise that is not its context’s, and no event can wake it: ${ADVICE}`;
  return { errorType: FOREIGN_AWAIT, message };
}

/** A branch that no code waits for has failed. */
export function branchFailure(cause: WorkflowFailure): WorkflowFailure {
  const message = `${cause.message}; no code waits for the branch that failed: await it, or catch its error`;
  return failureBecause({ errorType: UNHANDLED_BRANCH, message }, cause);
}
