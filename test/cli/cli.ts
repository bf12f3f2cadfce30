import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import type { CommandContext } from '../../src/cli/command-context.ts';
import { runCommandLine } from '../../src/cli/commands.ts';
import { Output } from '../../src/cli/output.ts';
import { systemClock } from '../../src/util/clock.ts';
import { freePort } from '../support/http.ts';

/** The built command, which `npm test` builds first. */
export const MAIN = fileURLToPath(new URL('../../dist/cli.cjs', import.meta.url));

/** On a busy machine starting a process takes its time. */
export const PATIENCE = { timeout: 15_000, interval: 20 };

export interface RunningCli {
  readonly child: ChildProcessWithoutNullStreams;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Exit code and signal, once all output is there. */
  readonly ended: Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>;
}

export interface CliOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** The user that it runs as, and the Node that this user may run. */
  readonly as?: { readonly uid: number; readonly node: string };
  /** The command's program. Default: the built one. */
  readonly main?: string;
}

/** Starts the command; it is killed at the end of the test. */
export function startCli(args: readonly string[], { env = {}, cwd, as, main = MAIN }: CliOptions = {}): RunningCli {
  const plain = { NODE_ENV: '', NODE_V8_COVERAGE: '', NODE_OPTIONS: '', FORCE_COLOR: undefined, NO_COLOR: undefined };
  // What commands of a user share is not for the tests beside this one.
  const inherited = { ...process.env, XDG_RUNTIME_DIR: runtimeDirectory(), ...plain };
  const child = spawn(as?.node ?? process.execPath, [main, ...args], {
    env: { ...inherited, ...env },
    ...(cwd && { cwd }),
    ...(as && { uid: as.uid, gid: as.uid }),
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const collect = (stream: NodeJS.ReadableStream): (() => string) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    return () => Buffer.concat(chunks).toString();
  };
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  return { child, stdout, stderr, ended };
}

/** A directory for what the commands of a user share, for this command alone. It is gone after the test. */
export function runtimeDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'insidecar-cli-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Runs the command to its end. */
export async function runCli(
  args: readonly string[],
  options?: CliOptions,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const cli = startCli(args, options);
  cli.child.stdin.end();
  const [code] = await cli.ended;
  return { code, stdout: cli.stdout(), stderr: cli.stderr() };
}

/** Runs a command line that starts no command in this process, which is many times faster than in one of its own. */
export async function runHere(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  { columns, confirm }: Partial<Pick<CommandContext, 'columns' | 'confirm'>> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const outputOf = (stream: PassThrough): Output =>
    new Output(stream, { isColoured: false, onBroken: () => undefined });
  const code = await runCommandLine(args, {
    stdout: outputOf(stdout),
    stderr: outputOf(stderr),
    isTerminal: true,
    columns,
    confirm,
    hasInput: false,
    environment,
    directory: process.cwd(),
    clock: systemClock,
    onStopSignal: () => undefined,
  });
  stdout.end();
  stderr.end();
  return { code, stdout: await text(stdout), stderr: await text(stderr) };
}

/** Waits for a text in what the command prints. */
export async function untilSaid(output: () => string, text: string | RegExp): Promise<void> {
  await expect.poll(output, PATIENCE).toMatch(text);
}

/** The arguments that run a JavaScript program. */
export function program(code: string): readonly string[] {
  return [process.execPath, '--input-type=module', '-e', code];
}

/** The flags of a run of `orders` whose log is for people, on a port that is free. */
export async function flags(...more: readonly string[]): Promise<readonly string[]> {
  return ['run', '--app-id', 'orders', '--http-port', String(await freePort()), '--log-json=false', ...more];
}

/** A command that stays until it is told to end. That it says its process ID means that it is ready. */
export const STAYS = `console.log('pid', process.pid); setInterval(() => {}, 1000);`;

/** A directory that is gone after the test. */
export async function temporaryDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-cli-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Whether a process runs; one that has ended and waits for its parent does not. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
