import { parseArgs } from 'node:util';

/** Options of the benchmarks that run in rounds. */
export interface BenchOptions {
  readonly rounds: number;
  /** How long each contender is measured in each round. */
  readonly seconds: number;
  readonly warmupSeconds: number;
  readonly connections: number;
  /** Only contenders whose group has this name. */
  readonly only: string | undefined;
  /** A directory for V8 CPU profiles of the contenders. */
  readonly profile: string | undefined;
  /** Measure the first requests after a start instead, where the benchmark can. */
  readonly cold: boolean;
}

type Effort = Pick<BenchOptions, 'rounds' | 'seconds' | 'warmupSeconds'>;

const EFFORT: Effort = { rounds: 7, seconds: 1.2, warmupSeconds: 2 };
const QUICK: Effort = { rounds: 3, seconds: 0.4, warmupSeconds: 0.6 };

/** Reads the command line; `--quick` gives a rough answer soon. */
export function readOptions(groups: readonly string[], full: Effort = EFFORT, quickly: Effort = QUICK): BenchOptions {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      connections: { type: 'string' },
      only: { type: 'string' },
      profile: { type: 'string' },
      cold: { type: 'boolean', default: false },
    },
  });
  const { quick, only } = values;
  if (only !== undefined && !groups.includes(only)) throw new Error(`--only ${only}: expected ${groups.join(', ')}`);
  const effort = quick ? quickly : full;
  return {
    rounds: positive('rounds', values.rounds, effort.rounds),
    seconds: positive('seconds', values.seconds, effort.seconds),
    warmupSeconds: effort.warmupSeconds,
    connections: positive('connections', values.connections, 64),
    only,
    profile: values.profile,
    cold: values.cold,
  };
}

function positive(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (!(value > 0)) throw new Error(`--${name} ${text}: expected a number above 0`);
  return value;
}
