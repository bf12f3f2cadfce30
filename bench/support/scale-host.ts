import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ScaleReply, ScaleTask } from './scale-work.ts';

const LOOK_EVERY_MS = 10;
const MAX_WAIT_MS = 120_000;

type Usage = Pick<ScaleReply, 'messages' | 'jobs' | 'calls' | 'cpuMicros'>;

/** A process of bench/fleet.ts --scale, seen from the benchmark. */
export class ScaleHost {
  readonly #child: ChildProcess;
  readonly #open = new Map<number, (reply: ScaleReply) => void>();
  #number = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (reply: ScaleReply) => this.#open.get(reply.number)?.(reply));
  }

  /** Starts one after the other: the first of a directory holds it. */
  static async startAll(count: number, args: readonly string[]): Promise<readonly ScaleHost[]> {
    const file = fileURLToPath(new URL('./scale-worker.ts', import.meta.url));
    const hosts: ScaleHost[] = [];
    for (let index = 0; index < count; index++) {
      const env = { ...process.env, NODE_ENV: 'production' };
      const child = fork(file, args, { execArgv: ['--import', 'tsx'], env });
      await Promise.race([
        once(child, 'message'),
        once(child, 'exit').then(([code]) => Promise.reject(new Error(`a host has ended with ${String(code)}`))),
      ]);
      hosts.push(new ScaleHost(child));
    }
    return hosts;
  }

  async ask(task: ScaleTask): Promise<ScaleReply> {
    const number = ++this.#number;
    const reply = await new Promise<ScaleReply>((resolve) => {
      this.#open.set(number, resolve);
      this.#child.send({ number, task });
    });
    this.#open.delete(number);
    if (reply.error !== undefined) throw new Error(`${task.ask}: ${reply.error}`);
    return reply;
  }

  usage(): Promise<Usage> {
    return this.ask({ ask: 'usage' });
  }

  async kill(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
  }
}

/** What all have done. */
export async function usageOf(hosts: readonly ScaleHost[]): Promise<Usage> {
  const all = await Promise.all(hosts.map((host) => host.usage()));
  const sum = (of: (usage: Usage) => number): number => all.reduce((total, usage) => total + of(usage), 0);
  return {
    messages: sum(({ messages }) => messages),
    jobs: sum(({ jobs }) => jobs),
    calls: sum(({ calls }) => calls),
    cpuMicros: sum(({ cpuMicros }) => cpuMicros),
  };
}

/** Resolves when what all have done is enough. */
export async function settled(hosts: readonly ScaleHost[], isEnough: (usage: Usage) => boolean): Promise<void> {
  const until = performance.now() + MAX_WAIT_MS;
  for (let usage = await usageOf(hosts); !isEnough(usage); usage = await usageOf(hosts)) {
    if (performance.now() > until) throw new Error(`not done in time: ${JSON.stringify(usage)}`);
    await sleep(LOOK_EVERY_MS);
  }
}
