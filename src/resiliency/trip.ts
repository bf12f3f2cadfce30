import { type Condition, compileCondition, type Variables } from '../util/cel.ts';
import type { Counts } from './breaker.ts';

const VARIABLES: Variables = {
  requests: 'int',
  totalSuccesses: 'int',
  totalFailures: 'int',
  consecutiveSuccesses: 'int',
  consecutiveFailures: 'int',
};

/**
 * Compiles the condition that opens a breaker. If it cannot be evaluated, calls `failed`; the breaker stays closed.
 *
 * @throws Error naming the problem.
 */
export function compileTrip(
  expression: string,
  failed: (error: unknown) => void,
): (counts: Readonly<Counts>) => boolean {
  const holds = compileCondition(expression, 'trip', VARIABLES);
  return (counts) => {
    try {
      return holds(asIntegers(counts));
    } catch (error) {
      failed(error);
      return false;
    }
  };
}

/** CEL integers are bigints. */
function asIntegers(counts: Readonly<Counts>): Parameters<Condition>[0] {
  return {
    requests: BigInt(counts.requests),
    totalSuccesses: BigInt(counts.totalSuccesses),
    totalFailures: BigInt(counts.totalFailures),
    consecutiveSuccesses: BigInt(counts.consecutiveSuccesses),
    consecutiveFailures: BigInt(counts.consecutiveFailures),
  };
}
