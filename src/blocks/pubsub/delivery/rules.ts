import { compileCondition } from '../../../util/cel.ts';
import { TooManySteps } from '../../../util/cel-budget.ts';

/** Decides whether a rule holds for an event; throws when it cannot be evaluated. */
export type Matcher = (event: unknown) => boolean;

const ALWAYS: Matcher = () => true;

/** No expression reaches values that lie deeper: it would be too deep itself. */
const MAX_DEPTH = 100;

/** The forms of {@link readable} by event: several rules look at one event. */
const readableForms = new WeakMap<object, unknown>();

/**
 * Compiles a CEL expression over `event`, the whole CloudEvent. Empty is always true. JSON numbers are doubles.
 *
 * @throws Error naming what is wrong: syntax, an unknown name, a result that is no boolean, a pattern in `matches()`
 * that is not a literal, not RE2, or too large.
 */
export function compileMatch(expression: string): Matcher {
  if (expression.trim() === '') return ALWAYS;
  const holds = compileCondition(expression, 'match expression', { event: 'map' });
  return (event) => {
    try {
      return holds({ event });
    } catch (error) {
      if (error instanceof TooManySteps) throw error;
      const form = readable(event);
      if (form === event) throw error;
      return holds({ event: form });
    }
  };
}

/**
 * The event in a form that cel-js can read. It tells maps by `.constructor`: an object with a member of that name is no
 * map to it, unless it is a `Map`.
 */
function readable(event: unknown): unknown {
  if (typeof event !== 'object' || event === null) return event;
  if (!readableForms.has(event)) readableForms.set(event, hidesType(event, 0) ? asMaps(event, 0) : event);
  return readableForms.get(event);
}

/** Whether a member named `constructor` is anywhere in it. */
function hidesType(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.some((one) => hidesType(one, depth + 1));
  return Object.hasOwn(value, 'constructor') || Object.values(value).some((one) => hidesType(one, depth + 1));
}

/** With Maps in place of such objects and of those that hold one; the rest stays as it is. */
function asMaps(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  const isList = Array.isArray(value);
  const members: readonly unknown[] = isList ? value : Object.values(value);
  const forms = members.map((one) => asMaps(one, depth + 1));
  const isHidden = !isList && Object.hasOwn(value, 'constructor');
  if (!isHidden && forms.every((form, at) => form === members[at])) return value;
  return isList ? forms : new Map(Object.keys(value).map((name, at) => [name, forms[at]]));
}
