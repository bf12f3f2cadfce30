import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunLimits } from '../../src/index.ts';
import type { LoggedRun } from './run-log.ts';

const PROGRAM = fileURLToPath(new URL('../cluster/code-host.mjs', import.meta.url));

/** The code that a host has. */
export interface CodeOfHost {
  /** Names or patterns of jobs. */
  readonly jobs?: readonly string[];
  /** Names of workflows: each runs one activity, which its input names. */
  readonly workflows?: readonly string[];
  readonly activities?: readonly string[];
  /** The limits of its jobs, and of its activity. Default: none. */
  readonly limits?: RunLimits;
  /** How long each run lasts. Default 0. */
  readonly lastsMs?: number;
}

/** The input of a workflow of a {@link CodeHost}. */
export interface ActivityInput {
  readonly activity: string;
  /** The host at which the activity never ends. */
  readonly hangsAt?: string;
  /** The file without which it does not end. */
  readonly until?: string;
}

/** A line of the log that the hosts share. */
export interface CodeLine {
  readonly host: string;
  /** `B` something begins, `E` it ends well. */
  readonly what: string;
  readonly kind: string;
  readonly name: string;
  /** When, in milliseconds of the clock of the machine. */
  readonly at: number;
}

/** A host of an application, in a process of its own. */
export class CodeHost {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;

  constructor(child: ChildProcess, exit: Promise<unknown>) {
    this.#child = child;
    this.#exit = exit;
  }

  async #call(call: string, ...args: readonly unknown[]): Promise<unknown> {
    const answered = once(this.#child, 'message');
    this.#child.send({ call, args });
    const [{ answer }] = (await answered) as [{ answer: unknown }];
    return answer;
  }

  async schedule(names: readonly string[], options: object): Promise<void> {
    await this.#call('schedule', names, options);
  }

  /** How many jobs there are. */
  async left(): Promise<number> {
    return (await this.#call('left')) as number;
  }

  async startAll(workflow: string, ids: readonly string[], input: ActivityInput): Promise<void> {
    await this.#call('startAll', workflow, ids, input);
  }

  /** The outputs of instances; `null` of those that have none. */
  async outputs(ids: readonly string[]): Promise<readonly unknown[]> {
    return (await this.#call('outputs', ids)) as readonly unknown[];
  }

  /** Starts a workflow that calls an activity with each of the names, all at once. */
  async begin(id: string, names: readonly string[]): Promise<void> {
    await this.#call('begin', id, names);
  }

  async statusOf(id: string): Promise<string | undefined> {
    return (await this.#call('statusOf', id)) as string | undefined;
  }

  /** Has it stand still, or go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#child.kill(signal);
    await this.#exit;
  }
}

/** The instant now, by the clock of the machine. */
export function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Hosts of one application on one store, each in a process of its own. They use the built package. */
export class CodeHosts implements AsyncDisposable {
  readonly #place: string;
  readonly #directory = mkdtempSync(join(tmpdir(), 'insidecar-code-'));
  readonly #hosts: CodeHost[] = [];

  /** @param place - the URL of a server; without it, a directory */
  constructor(place?: string) {
    this.#place = place ?? join(this.#directory, 'state');
    writeFileSync(this.#log, '');
  }

  get #log(): string {
    return join(this.#directory, 'log');
  }

  /** A file that is not there. */
  file(name: string): string {
    return join(this.#directory, name);
  }

  async join(name: string, code: CodeOfHost): Promise<CodeHost> {
    const child = spawn(process.execPath, [PROGRAM], {
      env: {
        ...process.env,
        ...{ NODE_V8_COVERAGE: '', NODE_OPTIONS: '' },
        CODE_HOST: JSON.stringify({ name, place: this.#place, log: this.#log, ...code }),
      },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const exit = once(child, 'exit');
    const fell = exit.then(([code]) => Promise.reject(new Error(`host ${name} has ended with ${code} at its start`)));
    fell.catch(() => undefined);
    await Promise.race([once(child, 'message'), fell]);
    const host = new CodeHost(child, exit);
    this.#hosts.push(host);
    return host;
  }

  /** What happened until now, in order. */
  get lines(): readonly CodeLine[] {
    const lines = readFileSync(this.#log, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => {
      const [host = '', what = '', kind = '', name = '', at = ''] = line.split(' ');
      return { host, what, kind, name, at: Number(at) };
    });
  }

  /** The runs of jobs or activities. One that was broken off ended with its host, at the instant in `diedAt`. */
  runs(kind: 'job' | 'activity', diedAt: Readonly<Record<string, number>> = {}): readonly (LoggedRun & CodeLine)[] {
    const runs: (LoggedRun & CodeLine & { endedAt?: number | undefined })[] = [];
    for (const line of this.lines) {
      if (line.kind !== kind) continue;
      const { host, name, at } = line;
      if (line.what === 'B') runs.push({ ...line, beganAt: at, endedAt: diedAt[host] });
      const own = runs.findLast((run) => run.host === host && run.name === name);
      if (line.what === 'E' && own !== undefined) own.endedAt = at;
    }
    return runs;
  }

  /** The names of what has begun (`B`) or ended well (`E`) at a host, sorted. */
  of(host: string, what: string): readonly string[] {
    return this.lines
      .filter((line) => line.host === host && line.what === what)
      .map(({ name }) => name)
      .sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.end('SIGKILL')));
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
