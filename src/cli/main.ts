#!/usr/bin/env node
import { join } from 'node:path';
import { isatty } from 'node:tty';
import { systemClock } from '../util/clock.ts';
import type { CommandContext } from './command-context.ts';
import { runCommandLine } from './commands.ts';
import { Output, wantsColour } from './output.ts';

const STANDARD_INPUT = 0;
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The standard output and error of the process. */
function contextOf({ stdout, stderr, env }: NodeJS.Process): CommandContext {
  // `process.stdin` opens a stream, which few commands read.
  const isAsking = isatty(STANDARD_INPUT);
  const listeners = new Set<(signal: NodeJS.Signals) => void>();
  const onBroken = (): void => {
    for (const listener of listeners) listener('SIGPIPE');
  };
  const outputOf = (stream: NodeJS.WriteStream): Output =>
    new Output(stream, { isColoured: wantsColour(stream.isTTY === true, env), onBroken });
  return {
    stdout: outputOf(stdout),
    stderr: outputOf(stderr),
    isTerminal: stderr.isTTY === true,
    columns: stdout.isTTY === true ? stdout.columns : undefined,
    confirm: isAsking && stderr.isTTY === true ? (question) => asked(question, process) : undefined,
    hasInput: !isAsking,
    environment: env,
    directory: process.cwd(),
    clock: systemClock,
    onStopSignal: (listener) => {
      listeners.add(listener);
      for (const signal of STOP_SIGNALS) process.on(signal, listener);
    },
  };
}

/** Loaded on demand: few commands ask. */
async function asked(question: string, { stdin, stderr }: NodeJS.Process): Promise<boolean> {
  return (await import('./confirm.ts')).confirm(question, { input: stdin, output: stderr });
}

/**
 * Keeps the code that V8 compiles for the next start: a tenth of its CPU time. Node 22.1 and later can; where the
 * directory cannot be written, nothing is kept. Not in Node's default, the directory for temporary files: others may
 * write there, and this is code. `NODE_COMPILE_CACHE` names another directory, `NODE_DISABLE_COMPILE_CACHE=1` turns it off.
 */
function keepCompiledCode({ XDG_CACHE_HOME, HOME }: NodeJS.ProcessEnv): void {
  const { enableCompileCache } = process.getBuiltinModule('node:module') as {
    readonly enableCompileCache?: (directory: string) => unknown;
  };
  const caches = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'));
  if (caches) enableCompileCache?.(join(caches, 'insidecar'));
}

async function main(): Promise<void> {
  keepCompiledCode(process.env);
  // A token is not for everybody who lists the processes of the machine. On Linux and macOS this hides it.
  if (process.argv.some((arg) => /^--(inspect-)?token|[?&]token=/.test(arg))) process.title = 'insidecar';
  const context = contextOf(process);
  const exitCode = await runCommandLine(process.argv.slice(2), context);
  await Promise.all([context.stdout.flushed(), context.stderr.flushed()]);
  // Exit without waiting for open handles: they must not keep the command running.
  process.exit(exitCode);
}

void main();
