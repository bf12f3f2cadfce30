/**
 * A short part of `npm run fuzz`: the seeds that found something once, then as much as a minute allows from one seed on.
 * It is always the same, so that a change fails by what it has changed; `npm run fuzz` takes a new one.
 */
import { describe, expect, test } from 'vitest';
import { fuzz } from './fuzz.ts';
import { FUZZED } from './targets.ts';

/** What a slow machine needs beside the time of a target. */
const PATIENCE_MS = 120_000;
/** So that a fast machine tries no more than a slow one. */
const PORTIONS = 20;
const SEED = Number(process.env['FUZZ_SEED'] ?? 1);

describe(`fuzz, FUZZ_SEED=${SEED}`, () => {
  test.each(FUZZED)('$target.name', { timeout: PATIENCE_MS }, async ({ target, kept, forMs }) => {
    const { cases, seconds } = await fuzz(target, { kept, seed: SEED, forMs, portions: PORTIONS });
    console.log(`${target.name}: ${cases} cases from seed ${SEED} on in ${seconds} s`);
    expect(cases).toBeGreaterThan(0);
  });
});
