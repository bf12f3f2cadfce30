/**
 * The long version, by hand; needs a build. `npm run fuzz` takes half an hour for all targets;
 * `npm run fuzz -- --target http --minutes 2 --seed 17` is one of them from a seed on. Exits with 1 when something failed.
 */
import { parseArgs } from 'node:util';
import { fuzz } from './fuzz.ts';
import { FUZZED } from './targets.ts';

const { values } = parseArgs({
  options: {
    target: { type: 'string', multiple: true },
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    // Of each target; to try one seed again, 1.
    portions: { type: 'string', default: 'Infinity' },
  },
});
const TARGETS = FUZZED.map(({ target }) => target);
const names = values.target ?? TARGETS.map(({ name }) => name);
const chosen = TARGETS.filter(({ name }) => names.includes(name));
const unknown = names.filter((name) => !TARGETS.some((target) => target.name === name));
if (unknown.length > 0)
  throw new Error(`unknown target ${unknown.join()}: expected ${TARGETS.map(({ name }) => name).join()}`);
const budget = {
  seed: Number(values.seed),
  forMs: (Number(values.minutes) * 60_000) / chosen.length,
  portions: Number(values.portions),
};
console.log(`seed ${budget.seed}, ${Math.round(budget.forMs / 1_000)} s for each of ${chosen.length} targets`);
for (const target of chosen) {
  try {
    const { cases, seconds, notes } = await fuzz(target, budget);
    console.log(`${target.name}: ${cases} cases in ${seconds} s`);
    for (const note of notes) console.log(`  ${note}`);
  } catch (error) {
    process.exitCode = 1;
    const { message, cause } = error as Error;
    console.error(message, (cause as Error).cause ?? cause);
  }
}
