import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What a contender does when it is asked to, in its own process. */
export interface Duties {
  /** The port that it serves, if it does. */
  readonly port?: number;
  /** Works by itself for so long, on a task if there are several; returns how many units of work went through. */
  readonly run?: (seconds: number, task: string) => Promise<number>;
  /** How many messages have been delivered since the start, where that is to be checked. */
  readonly delivered?: () => number;
  /** When the last message was delivered, in milliseconds since 1970. */
  readonly lastDeliveredAt?: () => number;
}

/** What a contender has used and done since its start. */
export interface Usage {
  readonly cpuMicros: number;
  readonly delivered: number;
  readonly lastDeliveredAt: number;
}

type Question =
  | { readonly ask: 'usage' }
  | { readonly ask: 'memory' }
  | { readonly ask: 'run'; readonly seconds: number; readonly task: string };

/** A contender, seen from the benchmark: a child process. */
export interface Contender {
  readonly port: number;
  usage(): Promise<Usage>;
  run(seconds: number, task?: string): Promise<number>;
  /** Its resident set. */
  memoryMb(): Promise<number>;
  stop(): Promise<void>;
}

/** What a process does before V8 has compiled and optimised its code. */
export const FIRST = 2_000;

/** CPU time of each of the first requests of a contender. */
export async function firstMicrosOf(
  { usage }: Contender,
  load: { send(count: number): Promise<unknown> },
): Promise<number> {
  const before = await usage();
  await load.send(FIRST);
  return ((await usage()).cpuMicros - before.cpuMicros) / FIRST;
}

/** Starts a contender: `module` (beside this file) calls {@link serve}, `name` tells it which one to be. */
export async function startContender(
  module: string,
  name: string,
  options: { readonly profile?: string | undefined; readonly argument?: string } = {},
): Promise<Contender> {
  const { profile, argument = '' } = options;
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}/${name}`];
  const child = fork(fileURLToPath(new URL(module, import.meta.url)), [name, argument], {
    execArgv: ['--import', 'tsx', ...profiling],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const answer = async <T>(): Promise<T> => {
    const gone = new AbortController();
    const [reply] = await Promise.race([
      once(child, 'message', { signal: gone.signal }),
      once(child, 'exit', { signal: gone.signal }).then(() => Promise.reject(new Error(`contender ${name} has ended`))),
    ]).finally(() => gone.abort());
    return reply as T;
  };
  const ask = <T>(question: Question): Promise<T> => {
    child.send(question);
    return answer<T>();
  };
  const { port } = await answer<{ readonly port: number }>();
  return {
    port,
    usage: () => ask<Usage>({ ask: 'usage' }),
    run: (seconds, task = '') => ask<number>({ ask: 'run', seconds, task }),
    memoryMb: () => ask<number>({ ask: 'memory' }),
    stop: async () => {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

/** In the child: answers the benchmark's questions until it lets go. */
export function serve({ port = 0, run, delivered, lastDeliveredAt }: Duties): void {
  process.on('message', (question: Question) => {
    if (question.ask === 'usage') {
      const { user, system } = process.cpuUsage();
      process.send?.({
        cpuMicros: user + system,
        delivered: delivered?.() ?? 0,
        lastDeliveredAt: lastDeliveredAt?.() ?? 0,
      } satisfies Usage);
    } else if (question.ask === 'memory') {
      process.send?.(process.memoryUsage.rss() / 1_024 / 1_024);
    } else if (question.ask === 'run') {
      void run?.(question.seconds, question.task).then((count) => process.send?.(count));
    }
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ port });
}
