/**
 * The long version, by hand: `npm run torture`, an hour over all engines, with 1,000 kills. Exits with 1 when a promise
 * was broken. The options are in CONTRIBUTING.md.
 */
import { parseArgs } from 'node:util';
import { disposeOnSignal } from '../../support/dispose-on-signal.ts';
import { type Fault, type FaultCounts, Faults } from './faults.ts';
import { reportOf, takeoverLines } from './report.ts';
import { loseOnPurpose } from './sabotage.ts';
import { ENGINES, type Engine, Torture } from './torture.ts';

/** How many faults there are in an hour over all engines, of which each has its share. */
const IN_AN_HOUR: Readonly<Record<Engine, FaultCounts>> = {
  embedded: {
    ...{ kill: 600, pause: 40, stop: 60, cut: 0, hole: 0, crash: 0 },
    ...{ clock: 40, full: 40, slow: 40, sync: 60 },
  },
  directory: {
    ...{ kill: 300, pause: 20, stop: 40, cut: 0, hole: 0, crash: 0 },
    ...{ clock: 20, full: 20, slow: 20, sync: 30 },
  },
  postgresql: {
    ...{ kill: 200, pause: 20, stop: 20, cut: 300, hole: 10, crash: 10 },
    ...{ clock: 20, full: 0, slow: 0, sync: 0 },
  },
  redis: {
    ...{ kill: 200, pause: 20, stop: 20, cut: 300, hole: 10, crash: 10 },
    ...{ clock: 20, full: 0, slow: 0, sync: 0 },
  },
};
const FAULTS = Object.keys(IN_AN_HOUR.embedded) as Fault[];
/** What is begun at a time: its records are in memory, and what was lost is found soon. */
const MAX_CHUNK_SECONDS = 240;
/** What a busy machine may need for the end of its queues before that counts as lost. */
const MAX_REST_MS = 240_000;

const { values } = parseArgs({
  options: {
    engine: { type: 'string', multiple: true, default: [...ENGINES] },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    minutes: { type: 'string', default: '60' },
    // 1 is 40 calls per second and host. Default: 3 for the one host of `embedded`, else 1.
    pace: { type: 'string' },
    // The limit of a host's heap in MiB.
    heap: { type: 'string' },
    // The faults come at equal distances, and takeovers are measured.
    even: { type: 'boolean', default: false },
    // Hosts cannot call each other.
    'store-only': { type: 'boolean', default: false },
    // Commits have no fences, to see what else holds.
    unfenced: { type: 'boolean', default: false },
    // Work is deleted by hand, which must be found.
    lose: { type: 'boolean', default: false },
    // How many of a fault, instead of its share of an hour's.
    ...Object.fromEntries(FAULTS.map((fault) => [fault, { type: 'string' as const }])),
  },
});
const asked = values as Partial<Record<Fault, string>>;

function engineOf(name: string): Engine {
  const engine = ENGINES.find((known) => known === name);
  if (engine === undefined) throw new Error(`--engine ${name}: expected ${ENGINES.join(', ')}`);
  return engine;
}

/** What the options say for an engine, of which one of several chunks gets its share. */
function countsOf(engine: Engine, share: number): FaultCounts {
  const ofHour = Number(values.minutes) / 60;
  const entries = FAULTS.map((fault) => [fault, asked[fault] ?? IN_AN_HOUR[engine][fault] * ofHour] as const);
  return Object.fromEntries(entries.map(([fault, count]) => [fault, Math.ceil(Number(count) * share)])) as never;
}

/** One chunk; answers whether every promise was kept. */
async function run(engine: Engine, seed: number, seconds: number, counts: FaultCounts): Promise<boolean> {
  console.log(`${engine}, seed ${seed}, ${Math.round(seconds)} s: ${JSON.stringify(counts)}`);
  const startedAt = performance.now();
  await using torture = await Torture.start({
    ...{ engine, seed, pace: Number(values.pace ?? (engine === 'embedded' ? 3 : 1)) },
    ...{ hasAddresses: !values['store-only'], isUnfenced: values.unfenced ?? false },
    heapMb: values.heap === undefined ? undefined : Number(values.heap),
  });
  using _onSignal = disposeOnSignal(torture);
  const faults = new Faults(torture);
  await faults.run(counts, seconds, values.even);
  if (values.lose) await loseOnPurpose(torture);
  await torture.rest(values.lose || values.unfenced ? 8_000 : MAX_REST_MS);
  const { findings, lines } = reportOf(torture);
  for (const line of [...lines, ...(values.even ? takeoverLines(torture, faults) : [])]) console.log(line);
  for (const [what, found] of Object.entries(findings)) {
    console.log(`${what}: ${found.length}`);
    for (const line of found.slice(0, 20)) console.log(`  ${line}`);
  }
  console.log(`${Math.round((performance.now() - startedAt) / 1_000)} s in all\n`);
  return Object.values(findings).every(({ length }) => length === 0);
}

const engines = values.engine.map(engineOf);
if (values.lose && engines.includes('embedded'))
  throw new Error('--lose: expected --engine postgresql or redis, whose work can be deleted while hosts stand still');
const seconds = (Number(values.minutes) * 60) / engines.length;
const chunks = Math.ceil(seconds / MAX_CHUNK_SECONDS);
let seed = Number(values.seed);
for (let chunk = 0; chunk < chunks; chunk++) {
  for (const engine of engines) {
    const isKept = await run(engine, seed++, seconds / chunks, countsOf(engine, 1 / chunks));
    if (!isKept) process.exitCode = 1;
  }
}
