import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { type Clock, sleep } from '../../util/clock.ts';
import { CommandFailure, EXIT } from '../failure.ts';
import type { Output } from '../output.ts';
import { passLines } from './lines.ts';
import type { OrphanReaper } from './orphan-reaper.ts';

/** Time limit for leftover child processes and remaining output after the process has ended. */
const LEFTOVER_MS = 1_000;
const LEFTOVER_PROBE_MS = 20;

/** How a process ended. */
export interface Ending {
  /** As in a shell: 128 + n if signal n ended it. */
  readonly code: number;
  readonly signal: NodeJS.Signals | undefined;
}

/** The process to start and its output. */
export interface CommandOptions {
  readonly command: readonly string[];
  readonly directory: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Whether it inherits our standard input. */
  readonly takesInput: boolean;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly prefix: (output: Output) => string;
  readonly guard: OrphanReaper;
  readonly clock: Clock;
}

/** A started process, in its own process group with all its descendants. */
export class Command {
  readonly pid: number;
  /** Resolves when the process and its descendants have ended and their output is passed on. */
  readonly ended: Promise<Ending>;
  readonly #child: ChildProcess;
  readonly #options: CommandOptions;
  #isOver = false;

  private constructor(child: ChildProcess, pid: number, options: CommandOptions) {
    this.#child = child;
    this.pid = pid;
    this.#options = options;
    options.guard.hold(pid);
    this.ended = this.#untilEnded();
  }

  /** @throws Failure if the program does not exist or is not executable. */
  static async start(options: CommandOptions): Promise<Command> {
    const [program = '', ...args] = options.command;
    options.guard.open();
    const child = spawn(program, args, {
      cwd: options.directory,
      env: options.environment,
      detached: process.platform !== 'win32',
      stdio: [options.takesInput ? 'inherit' : 'ignore', 'pipe', 'pipe'],
    });
    const { pid } = child;
    if (pid !== undefined) return new Command(child, pid, options);
    const error = await new Promise<NodeJS.ErrnoException>((resolve) => child.once('error', resolve));
    throw startFailure(program, options.directory, error);
  }

  /** Sends a signal to the process and all its descendants. */
  signal(name: NodeJS.Signals): void {
    if (this.#isOver) return;
    try {
      if (process.platform === 'win32') this.#child.kill(name);
      else process.kill(-this.pid, name);
    } catch {
      // It has just ended.
    }
  }

  async #untilEnded(): Promise<Ending> {
    const { stdout, stderr, prefix, clock, guard } = this.#options;
    const outputs = [this.#child.stdout && passLines(this.#child.stdout, stdout, prefix(stdout))];
    outputs.push(this.#child.stderr && passLines(this.#child.stderr, stderr, prefix(stderr)));
    const ending = await new Promise<Ending>((resolve) => {
      this.#child.once('exit', (code, signal) =>
        resolve({
          code: signal === null ? (code ?? 0) : EXIT.signalBase + numberOf(signal),
          signal: signal ?? undefined,
        }),
      );
    });
    await this.#endLeftover();
    this.#isOver = true;
    guard.drop(this.pid);
    await Promise.race([Promise.all(outputs), sleep(clock, LEFTOVER_MS)]);
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    return ending;
  }

  /** Ends leftover descendants: first with SIGTERM, then with SIGKILL. */
  async #endLeftover(): Promise<void> {
    if (process.platform === 'win32' || !this.#hasLeftover()) return;
    this.signal('SIGTERM');
    for (let waited = 0; waited < LEFTOVER_MS; waited += LEFTOVER_PROBE_MS) {
      await sleep(this.#options.clock, LEFTOVER_PROBE_MS);
      if (!this.#hasLeftover()) return;
    }
    this.signal('SIGKILL');
  }

  #hasLeftover(): boolean {
    try {
      return process.kill(-this.pid, 0);
    } catch {
      return false;
    }
  }
}

function numberOf(signal: NodeJS.Signals): number {
  return constants.signals[signal];
}

function startFailure(program: string, directory: string, error: NodeJS.ErrnoException): CommandFailure {
  if (error.code === 'ENOENT' && !existsSync(directory))
    return new CommandFailure(`the directory ${JSON.stringify(directory)} does not exist`, EXIT.failed, error);
  if (error.code === 'ENOENT')
    return new CommandFailure(`the command ${JSON.stringify(program)} was not found`, EXIT.notFound, error);
  if (error.code === 'EACCES')
    return new CommandFailure(`the command ${JSON.stringify(program)} may not be executed`, EXIT.notExecutable, error);
  return new CommandFailure(
    `the command ${JSON.stringify(program)} could not be started: ${error.message}`,
    EXIT.failed,
    error,
  );
}
