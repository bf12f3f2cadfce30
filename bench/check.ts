/**
 * Whether a change costs more: CPU time per unit of five figures, this build beside that of the commit before the change.
 * Exits with 1 when one of them has lost more than 10 %. See README.md.
 *
 * Run after a build: `npm run bench:check [-- --base <commit>] [-- --only publish|deliver|durable|job|workflow]`
 */
import { parseArgs } from 'node:util';
import { buildBase, findBase } from './support/base-build.ts';
import { type Contender, startContender } from './support/contender.ts';
import { Load } from './support/load.ts';
import { PAYLOAD, PUBLISH_PATH } from './support/payload.ts';
import { median, printTable } from './support/stats.ts';

const FIGURES = {
  publish: 'publish over HTTP, in memory',
  deliver: 'publish and deliver to a function, in memory',
  durable: 'publish, deliver and settle, on disk',
  job: 'schedule and run a job, on disk',
  workflow: 'workflow of three activities, on disk',
} as const;
type Figure = keyof typeof FIGURES;

/** The loss from which on a change fails. */
const MAX_LOSS = 1.1;
const WARMUP_SECONDS = 1;
const SECONDS = 0.3;
const ROUNDS = 8;
const CONNECTIONS = 64;
/**
 * Pairs of processes per figure: two processes of one and the same build differ by some percent for their whole life. The
 * second number is for a figure that seems to have lost: one slow pair is no finding.
 */
const PAIRS = [2, 8] as const;

interface Side {
  readonly contender: Contender;
  /** Works for so long; returns how many units. */
  readonly work: (seconds: number) => Promise<number>;
  close(): Promise<void>;
}

async function open(figure: Figure, root: string): Promise<Side> {
  const contender = await startContender('./check-worker.ts', figure, { argument: root });
  if (figure !== 'publish') return { contender, work: (seconds) => contender.run(seconds), close: contender.stop };
  const load = await Load.open({
    ...{ port: contender.port, connections: CONNECTIONS },
    ...{ path: PUBLISH_PATH, body: PAYLOAD },
  });
  const close = (): Promise<void> => {
    load.close();
    return contender.stop();
  };
  return { contender, work: async (seconds) => (await load.run(seconds)).requests, close };
}

async function cpuMicros({ contender, work }: Side, seconds: number): Promise<number> {
  const before = await contender.usage();
  const units = await work(seconds);
  return ((await contender.usage()).cpuMicros - before.cpuMicros) / units;
}

/** What one pair of processes used for a unit, now and before, and the ratio. */
interface Pair {
  readonly now: number;
  readonly before: number;
  readonly ratio: number;
}

async function comparePair(figure: Figure, base: string, isOwnFirst: boolean): Promise<Pair> {
  const here = new URL('../', import.meta.url).href;
  const roots = isOwnFirst ? [here, base] : [base, here];
  const sides: Side[] = [];
  for (const root of roots) sides.push(await open(figure, root));
  for (const side of sides) await side.work(WARMUP_SECONDS);
  const used: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    // A B, B A, A B …: a machine that gets slower or faster meets both.
    for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const side = sides[at];
      if (side !== undefined) used[at]?.push(await cpuMicros(side, SECONDS));
    }
  }
  for (const side of sides) await side.close();
  const [nows, befores] = isOwnFirst ? used : [used[1], used[0]];
  return {
    now: median(nows),
    before: median(befores),
    ratio: median(nows.map((now, round) => now / (befores[round] ?? Number.NaN))),
  };
}

/** More pairs while the figure seems to have lost; lost has it only when every pair says so and the middle one by more. */
async function compare(figure: Figure, base: string): Promise<{ row: string[]; hasLost: boolean }> {
  const pairs: Pair[] = [];
  const ratio = (): number => median(pairs.map((pair) => pair.ratio));
  const [few, many] = PAIRS;
  while (pairs.length < few || (ratio() > MAX_LOSS && pairs.length < many))
    pairs.push(await comparePair(figure, base, pairs.length % 2 === 0));
  const hasLost = ratio() > MAX_LOSS && pairs.every((pair) => pair.ratio > 1);
  const micros = (pick: (pair: Pair) => number): string => median(pairs.map(pick)).toFixed(1);
  const ratios = pairs.map((pair) => pair.ratio.toFixed(2)).join(' ');
  const row = [FIGURES[figure], micros(({ before }) => before), micros(({ now }) => now), ratio().toFixed(2), ratios];
  return { row: [...row, hasLost ? 'LOST' : 'ok'], hasLost };
}

const { values } = parseArgs({ options: { base: { type: 'string' }, only: { type: 'string' } } });
const figures = Object.keys(FIGURES) as Figure[];
const { only } = values;
if (only !== undefined && !figures.includes(only as Figure))
  throw new Error(`--only ${only}: expected ${figures.join(', ')}`);
const revision = values.base ?? process.env['BENCH_BASE'] ?? findBase();
if (revision === undefined) {
  console.log('bench:check: there is no earlier commit here (a shallow clone?); name one with --base or BENCH_BASE');
} else {
  using base = buildBase(revision);
  console.log(`CPU µs per unit, ${base.commit.slice(0, 7)} and this build; Node ${process.version}\n`);
  const rows: string[][] = [];
  for (const figure of figures) {
    if (only !== undefined && only !== figure) continue;
    const { row, hasLost } = await compare(figure, base.root);
    rows.push(row);
    if (hasLost) process.exitCode = 1;
  }
  printTable(['', 'before', 'now', 'ratio', 'pairs', ''], rows);
  if (process.exitCode === 1)
    console.log(
      `\nLost: more than ${Math.round((MAX_LOSS - 1) * 100)} % in the middle of ${PAIRS[1]} pairs, and something in each.`,
    );
}
