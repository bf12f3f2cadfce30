import type fc from 'fast-check';
import { type Session, type Target, tryPortion } from '../portion.ts';

/** A property of a function. */
interface Property<Case> {
  readonly cases: fc.Arbitrary<Case>;
  /** @throws Error when it does not hold */
  readonly check: (one: Case) => void | Promise<void>;
}

/** A target that needs nothing but functions. */
// biome-ignore lint/suspicious/noExplicitAny: each property has cases of its own type
export function pureTarget(name: string, runs: number, properties: readonly Property<any>[]): Target {
  const session: Session = {
    try: async (seed) => {
      for (const { cases, check } of properties) await tryPortion(cases, check, { seed, numRuns: runs });
      return runs * properties.length;
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  return { name, open: async () => session };
}
