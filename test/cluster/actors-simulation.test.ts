import { describe, expect, test } from 'vitest';
import { Simulation } from '../support/actors-simulation/simulation.ts';

/** `INSIDECAR_TEST_SEEDS=1,2,3`: longer runs of those seeds. By default a short one, of another seed each time. */
const { INSIDECAR_TEST_SEEDS: given } = process.env;
const SEEDS = (given ?? String(Date.now() % 1_000_000)).split(',').map(Number);
const SIZE = given === undefined ? { callers: 20, steps: 20 } : { callers: 40, steps: 60 };

describe.each(SEEDS)('actors while hosts come and go, seed %i', (seed) => {
  test.each([
    ['join and stop', false],
    ['join, stop, freeze and die', true],
  ])(
    'no two turns at a time, nothing acknowledged lost, each tick: hosts %s',
    async (_, hasFaults) => {
      await using simulation = new Simulation({ seed, hasFaults, actors: 1_000, ...SIZE });
      await simulation.run();
      expect([seed, await simulation.findings()]).toEqual([seed, []]);
      const count = (outcome: string): number => simulation.calls.filter((call) => call.outcome === outcome).length;
      console.log(
        `seed ${seed}: ${simulation.hosts.all.length} hosts, ${count('acknowledged')} calls acknowledged, ` +
          `${count('failed')} failed, ${simulation.reminders.length} reminders`,
      );
      expect(count('acknowledged')).toBeGreaterThan(50);
      expect(simulation.reminders.length).toBeGreaterThan(0);
    },
    300_000,
  );
});
