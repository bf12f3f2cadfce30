/**
 * The long version, by hand; needs a build. `npx tsx test/crash/torture/run.ts --engine redis --seconds 240 --kill 60`
 * and so on; the options below have defaults. Exits with 1 when a promise was broken.
 */
import { parseArgs } from 'node:util';
import { type FaultCounts, Faults } from './faults.ts';
import { reportOf, takeoverLines } from './report.ts';
import { loseOnPurpose } from './sabotage.ts';
import { type Engine, MAX_REST_MS, Torture } from './torture.ts';

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'redis' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    seconds: { type: 'string', default: '240' },
    pace: { type: 'string', default: '1' },
    kill: { type: 'string', default: '60' },
    pause: { type: 'string', default: '6' },
    stop: { type: 'string', default: '10' },
    cut: { type: 'string', default: '150' },
    hole: { type: 'string', default: '6' },
    crash: { type: 'string', default: '6' },
    // The faults come at equal distances, and takeovers are measured.
    even: { type: 'boolean', default: false },
    // Hosts cannot call each other.
    'store-only': { type: 'boolean', default: false },
    // Commits have no fences, to see what else holds.
    unfenced: { type: 'boolean', default: false },
    // Work is deleted by hand, which must be found.
    lose: { type: 'boolean', default: false },
  },
});
const counts: FaultCounts = {
  ...{ kill: Number(values.kill), pause: Number(values.pause), stop: Number(values.stop) },
  ...{ cut: Number(values.cut), hole: Number(values.hole), crash: Number(values.crash) },
};
const engine: Engine = values.engine === 'postgresql' ? 'postgresql' : 'redis';
console.log(`${engine}, seed ${values.seed}, ${values.seconds} s: ${JSON.stringify(counts)}`);
const startedAt = performance.now();
await using torture = await Torture.start({
  ...{ engine, seed: Number(values.seed), pace: Number(values.pace) },
  ...{ hasAddresses: !values['store-only'], isUnfenced: values.unfenced },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void torture[Symbol.asyncDispose]().finally(() => process.exit(1)));
const faults = new Faults(torture);
await faults.run(counts, Number(values.seconds), values.even);
if (values.lose) await loseOnPurpose(torture);
await torture.rest(values.lose || values.unfenced ? 8_000 : MAX_REST_MS);
const { findings, lines } = reportOf(torture);
for (const line of [...lines, ...(values.even ? takeoverLines(torture, faults) : [])]) console.log(line);
for (const [what, found] of Object.entries(findings)) {
  console.log(`${what}: ${found.length}`);
  for (const line of found.slice(0, 20)) console.log(`  ${line}`);
}
console.log(`${Math.round((performance.now() - startedAt) / 1_000)} s in all`);
process.exitCode = Object.values(findings).every(({ length }) => length === 0) ? 0 : 1;
