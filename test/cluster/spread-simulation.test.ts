import { describe, expect, test } from 'vitest';
import { TopicSimulation } from '../support/topic-simulation.ts';

/** `INSIDECAR_TEST_SEEDS=1,2,3`: those seeds; `1-500` is a range. By default one, another one each time. */
const { INSIDECAR_TEST_SEEDS: given } = process.env;

const SEEDS = (given ?? String(Date.now() % 1_000_000)).split(',').flatMap((text) => {
  const [from = 0, to = from] = text.split('-').map(Number);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
});

describe.each(SEEDS)('a topic while hosts come and go, seed %i', (seed) => {
  test.each([
    ['join and stop', { options: {}, hasFaults: false }],
    ['join and stop', { options: { order: 'key' }, hasFaults: false }],
    ['join and stop', { options: { perKey: 1 }, hasFaults: false }],
    ['join and stop', { options: { concurrency: 1 }, hasFaults: false }],
    ['join and stop', { options: { order: 'key' }, hasFaults: false, isBulk: true }],
    ['join, stop, freeze and die', { options: {}, hasFaults: true }],
    ['join, stop, freeze and die', { options: { order: 'key' }, hasFaults: true }],
  ] as const)(
    'loses nothing, repeats only what a lost host had, keeps order and limits: hosts %s, %o',
    async (_, options) => {
      await using simulation = new TopicSimulation({ seed, steps: 25, ...options });
      await simulation.run();
      expect([seed, await simulation.findings()]).toEqual([seed, []]);
      expect(simulation.messages.length).toBeGreaterThan(50);
    },
    300_000,
  );
});
