import { compileCondition } from '../../../util/cel.ts';

/** Decides whether a rule holds for an event; throws when it cannot be evaluated. */
export type Matcher = (event: unknown) => boolean;

const ALWAYS: Matcher = () => true;

/**
 * Compiles a CEL expression over `event`, the whole CloudEvent. Empty is always true. JSON numbers are doubles.
 *
 * @throws Error naming what is wrong: syntax, an unknown name, a result that is no boolean, a pattern in `matches()`
 * that is not a literal or could backtrack catastrophically.
 */
export function compileMatch(expression: string): Matcher {
  if (expression.trim() === '') return ALWAYS;
  const holds = compileCondition(expression, 'match expression', { event: 'map' });
  return (event) => holds({ event });
}
