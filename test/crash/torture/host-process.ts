import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Life } from './checks.ts';

/** What a host is told at its start. */
export interface HostSetup {
  readonly life: number;
  /** Which of the hosts at the same time it is. */
  readonly slot: number;
  /** How many there are at a time. */
  readonly hosts: number;
  /** The address of the server, or the directory of an embedded store. */
  readonly url: string;
  /** The schema, or the prefix of keys. */
  readonly place: string;
  /** Whether the other hosts can call it. */
  readonly hasAddress: boolean;
  /** How much it does: 1 is 40 calls per second. */
  readonly pace: number;
  /** Whether it is one of the first: it schedules the recurring jobs, and waits with its work until it is told. */
  readonly isFirst: boolean;
  readonly topics: readonly string[];
  readonly orderedTopics: readonly string[];
  readonly ticks: number;
  /** How many actors there are; each host calls all of them. */
  readonly counters: number;
  /** How often each of them has a reminder. */
  readonly counterTickMs: number;
  readonly tickMs: number;
  /** Whether its commits have no fences. */
  readonly isUnfenced: boolean;
}

/** A request to a host. */
export type HostRequest =
  | { readonly what: 'work' | 'rest' | 'results' }
  | { readonly what: 'raise'; id: string; token: string }
  | { readonly what: 'clock'; offsetMs: number };

const PROGRAM = fileURLToPath(new URL('./host.mjs', import.meta.url));
/** A graceful stop may take as long: it waits for work in flight, and for the store. */
const MAX_STOP_MS = 60_000;

/** The clock of the hosts, in microseconds. */
export function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

/** A process that is one host, for one life. What it wrote outlives it. */
export class HostProcess implements Life {
  readonly life: number;
  readonly pauses: [from: number, to: number][] = [];
  ending: 'killed' | 'stopped' | undefined;
  endedAt: number | undefined;
  isUp = false;
  /** What it told in its last `V`. */
  results = 0;
  readonly #child: ChildProcess;
  readonly #output: number;
  readonly #errors: string;
  readonly #exit: Promise<string>;
  #unread = '';

  constructor(
    setup: HostSetup,
    directory: string,
    environment: Readonly<Record<string, string>> = {},
    heapMb?: number | undefined,
  ) {
    this.life = setup.life;
    const output = join(directory, `${setup.life}.out`);
    this.#errors = join(directory, `${setup.life}.err`);
    const files = [openSync(output, 'a'), openSync(this.#errors, 'a')] as const;
    const limits = heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`];
    const own = { NODE_V8_COVERAGE: '', NODE_OPTIONS: '', TORTURE: JSON.stringify(setup) };
    this.#child = spawn(process.execPath, [...limits, PROGRAM], {
      env: { ...process.env, ...environment, ...own },
      stdio: ['ignore', ...files, 'ipc'],
    });
    for (const file of files) closeSync(file);
    this.#output = openSync(output, 'r');
    this.#exit = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => resolve(signal ?? String(code)));
    });
    // A request to a host that is just being killed.
    this.#child.on('error', () => undefined);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isPaused(): boolean {
    return this.pauses.some(([, to]) => to === Number.POSITIVE_INFINITY);
  }

  /** Whether it can be asked. */
  get isReady(): boolean {
    return this.isUp && !this.isPaused && this.ending === undefined;
  }

  /** The complete lines that were not read yet. */
  newLines(): readonly string[] {
    const chunk = Buffer.alloc(1 << 20);
    for (let size = 1; size > 0; ) {
      size = readSync(this.#output, chunk, 0, chunk.length, null);
      this.#unread += chunk.toString('latin1', 0, size);
    }
    const lines = this.#unread.split('\n');
    this.#unread = lines.pop() ?? '';
    return lines;
  }

  /** What it has logged as errors. */
  get errors(): string {
    return readFileSync(this.#errors, 'utf8');
  }

  ask(request: HostRequest): void {
    if (this.#child.connected) this.#child.send(request, () => undefined);
  }

  pause(): void {
    this.pauses.push([nowUs(), Number.POSITIVE_INFINITY]);
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    const pause = this.pauses.at(-1);
    if (pause === undefined || this.ending !== undefined) return;
    pause[1] = nowUs();
    this.#child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    this.ending = 'killed';
    this.#child.kill('SIGKILL');
    await this.#exit;
    this.endedAt = nowUs();
    const pause = this.pauses.at(-1);
    if (pause !== undefined) pause[1] = Math.min(pause[1], this.endedAt);
  }

  /** Stops it gracefully; rejects unless it ends well, in time. */
  async stop(): Promise<void> {
    this.ending = 'stopped';
    this.#child.kill('SIGTERM');
    const limit = setTimeout(() => this.#child.kill('SIGKILL'), MAX_STOP_MS);
    const end = await this.#exit;
    clearTimeout(limit);
    this.endedAt = nowUs();
    if (end !== '0')
      throw new Error(`host ${this.life} was to stop and ended with ${end}: ${this.errors.slice(-2_000)}`);
  }

  /** Rejects if it ends by itself. */
  async fell(): Promise<never> {
    const end = await this.#exit;
    if (this.ending !== undefined) return new Promise<never>(() => undefined);
    throw new Error(`host ${this.life} has ended with ${end}: ${this.errors.slice(-2_000)}`);
  }

  close(): void {
    closeSync(this.#output);
  }
}
