/** A short part of `npm run fuzz`: the seeds that found something once, then as much as the time allows from a new one. */
import { describe, expect, test } from 'vitest';
import { fuzz } from './fuzz.ts';
import { FUZZED } from './targets.ts';

/** What a slow machine needs beside the time of a target. */
const PATIENCE_MS = 120_000;
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 1_000_000_000);

describe(`fuzz, FUZZ_SEED=${SEED}`, () => {
  test.each(FUZZED)('$target.name', { timeout: PATIENCE_MS, retry: 0 }, async ({ target, kept, forMs }) => {
    const { cases, seconds } = await fuzz(target, { kept, seed: SEED, forMs });
    console.log(`${target.name}: ${cases} cases from seed ${SEED} on in ${seconds} s`);
    expect(cases).toBeGreaterThan(0);
  });
});
