import fc from 'fast-check';

/** What is fuzzed. */
export interface Target {
  readonly name: string;
  /** Prepares what the cases need. */
  open(): Promise<Session>;
}

/** A target at work. */
export interface Session extends AsyncDisposable {
  /** Tries one portion of cases, which the seed decides; answers how many they were. @throws Error with what failed */
  try(seed: number): Promise<number>;
  /** Looks at what must hold after all portions. @throws Error with what does not */
  finish?(): Promise<void>;
  /** What a report tells beside the count. */
  notes?(): readonly string[];
}

/** The longest portion, with the search for a shorter case that fails as well. */
const MAX_PORTION_MS = 60_000;

/** Tries a portion of generated cases. @throws Error with the shortest case that fails. */
export async function tryPortion<Case>(
  cases: fc.Arbitrary<Case>,
  attempt: (one: Case) => Promise<void> | void,
  { seed, numRuns }: { readonly seed: number; readonly numRuns: number },
): Promise<void> {
  const property = fc.asyncProperty(cases, async (one) => {
    await attempt(one);
  });
  const startedAt = performance.now();
  const details = await fc.check(property, { seed, numRuns, interruptAfterTimeLimit: MAX_PORTION_MS });
  if (!details.failed || details.counterexample === null) return;
  const took = Math.round(performance.now() - startedAt);
  const { counterexample, errorInstance, numShrinks } = details;
  const shown = JSON.stringify(counterexample[0], printable);
  throw new Error(
    `seed ${seed}, shrunk ${numShrinks} times in ${took} ms: ${String(messageOf(errorInstance))}\n${shown}`,
    {
      cause: errorInstance,
    },
  );
}

function messageOf(error: unknown): unknown {
  return error instanceof Error ? error.message : error;
}

function printable(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
