import fc from 'fast-check';

/** What a program can begin and wait for. */
export type Leaf =
  | {
      readonly kind: 'activity';
      readonly name: 'double' | 'break' | 'flaky';
      readonly value: number;
      readonly retry?: number;
    }
  | { readonly kind: 'sleep'; readonly seconds: number }
  | { readonly kind: 'event'; readonly name: string; readonly timeoutSeconds: number }
  | { readonly kind: 'child'; readonly steps: readonly Step[] };

/** A step of a program. */
export type Step =
  | Leaf
  | { readonly kind: 'all' | 'any'; readonly leaves: readonly Leaf[] }
  | { readonly kind: 'unawaited'; readonly leaf: Leaf }
  | { readonly kind: 'attempt'; readonly steps: readonly Step[] }
  | { readonly kind: 'status'; readonly text: string }
  | { readonly kind: 'look' };

/** A workflow as data, so that two interpreters can run the same one. */
export interface Program {
  readonly steps: readonly Step[];
  /** How often it still continues as new. */
  readonly rounds: number;
}

/** What happens to an instance from outside while it runs. */
export interface Happening {
  readonly afterSeconds: number;
  readonly what: 'raise' | 'pause' | 'resume' | 'restart';
  readonly event: string;
}

const activity: fc.Arbitrary<Leaf> = fc.oneof(
  fc.record({ kind: fc.constant('activity'), name: fc.constantFrom('double', 'break'), value: fc.nat(9) } as const),
  fc.record({
    kind: fc.constant('activity'),
    name: fc.constantFrom('break', 'flaky'),
    value: fc.nat(9),
    retry: fc.integer({ min: 1, max: 3 }),
  } as const),
);

const waiting: fc.Arbitrary<Leaf> = fc.oneof(
  fc.record({ kind: fc.constant('sleep'), seconds: fc.nat(5) } as const),
  fc.record({ kind: fc.constant('event'), name: fc.constantFrom('go', 'stop'), timeoutSeconds: fc.nat(4) } as const),
);

const { step } = fc.letrec<{ leaf: Leaf; step: Step }>((tie) => ({
  leaf: fc.oneof(
    { maxDepth: 2, depthIdentifier: 'program' },
    activity,
    waiting,
    fc.record({
      kind: fc.constant('child'),
      steps: fc.array(tie('step'), { maxLength: 3, depthIdentifier: 'program' }),
    } as const),
  ),
  step: fc.oneof(
    { maxDepth: 2, depthIdentifier: 'program' },
    tie('leaf'),
    fc.record({ kind: fc.constant('status'), text: fc.constantFrom('', 'half way', 'ä') } as const),
    fc.constant({ kind: 'look' } as const),
    fc.record({
      kind: fc.constantFrom('all', 'any'),
      leaves: fc.array(tie('leaf'), { minLength: 1, maxLength: 4, depthIdentifier: 'program' }),
    } as const),
    fc.record({ kind: fc.constant('unawaited'), leaf: tie('leaf') } as const),
    fc.record({
      kind: fc.constant('attempt'),
      steps: fc.array(tie('step'), { maxLength: 3, depthIdentifier: 'program' }),
    } as const),
  ),
}));

export const programs: fc.Arbitrary<Program> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 6 }),
  rounds: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 }) }),
});

export const happenings: fc.Arbitrary<readonly Happening[]> = fc.array(
  fc.record({
    afterSeconds: fc.nat(3),
    what: fc.constantFrom('raise', 'raise', 'raise', 'pause', 'resume', 'restart'),
    event: fc.constantFrom('go', 'GO', 'stop'),
  }),
  { maxLength: 6 },
);
