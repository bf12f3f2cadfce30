import type { BenchOptions } from './options.ts';
import { median, ratio } from './stats.ts';

/** Works for some seconds; answers how much was done, and in what time. */
export type Work = (seconds: number) => Promise<{ readonly requests: number; readonly seconds: number }>;

/** One of those that are compared. */
export interface Entrant {
  readonly work: Work;
  /** CPU time of its processes since their start. */
  readonly cpuMicros: () => number | Promise<number>;
}

/** How fast, and the CPU time of each unit: one number for each round. */
export interface Figures {
  readonly perSecond: number[];
  readonly cpuMicros: number[];
}

const WARM_AFTER = 5_000;
const MAX_WARM_UPS = 5;

export const noFigures = (): Figures => ({ perSecond: [], cpuMicros: [] });

/** Has entrants work in turn, beginning with another one in each round; answers the figures of each. */
export async function takeTurns(
  entrants: readonly Entrant[],
  { rounds, seconds, warmupSeconds }: Pick<BenchOptions, 'rounds' | 'seconds' | 'warmupSeconds'>,
): Promise<readonly Figures[]> {
  const figures = entrants.map(noFigures);
  for (const { work } of entrants) await warmUp(work, warmupSeconds);
  for (let round = 0; round < rounds; round++)
    for (let turn = 0; turn < entrants.length; turn++) {
      const at = (round + turn) % entrants.length;
      const [entrant, own] = [entrants[at], figures[at]];
      if (entrant === undefined || own === undefined) continue;
      const before = await entrant.cpuMicros();
      const { requests, seconds: taken } = await entrant.work(seconds);
      own.perSecond.push(requests / taken);
      own.cpuMicros.push(((await entrant.cpuMicros()) - before) / requests);
    }
  return figures;
}

/** On a busy machine little is done in that time, and V8 has compiled little. */
async function warmUp(work: Work, seconds: number): Promise<void> {
  let done = 0;
  for (let times = 0; times < MAX_WARM_UPS && done < WARM_AFTER; times++) done += (await work(seconds)).requests;
}

/** The cells of a row: the rates and CPU times of both, and the ratios, where more than 1 means that the first is better. */
export function rowOf(label: string, own: Figures, peer: Figures): string[] {
  const cells = ({ perSecond, cpuMicros }: Figures): string[] => [
    Math.round(median(perSecond)).toLocaleString('en'),
    `${median(cpuMicros).toFixed(0)} µs`,
  ];
  const [faster, cheaper] = [ratio(own.perSecond, peer.perSecond), ratio(peer.cpuMicros, own.cpuMicros)];
  return [label, ...cells(own), ...cells(peer), faster.toFixed(2), cheaper.toFixed(2)];
}
