import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { later } from '../../src/kit/collector.ts';

const LONGEST_LIFE_MS = 120_000;
/** How many times as many lives as asked for may be killed before enough was done. */
const MOST_MORE = 5;

/** What one life of the child printed, line by line, and how it ended. */
export interface Life {
  readonly lines: readonly string[];
  readonly killed: boolean;
}

/** How the child is treated. */
export interface CrashOptions {
  /** The program, a plain module that Node runs. */
  readonly program: URL;
  /** Arguments of every life; each also gets its number in `LIFE`. */
  readonly args: readonly string[];
  readonly kills: number;
  /** A kill comes this long after the child's line `ready`, drawn anew each time. */
  readonly killAfterMs: readonly [from: number, to: number];
  /**
   * Whether the lives have done enough to put something to the test: on a busy machine, more of them are killed until
   * they have. Default: they always have.
   */
  readonly isEnough?: (lives: readonly Life[]) => boolean;
  /** Environment beside the parent's. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Starts the program, kills it with SIGKILL at a random moment, again and again; then lets it live once with
 * `LAST=1`, until it ends by itself. What the children printed is complete when they write with
 * `fs.writeSync(1, …)`.
 */
export async function runWithCrashes(options: CrashOptions): Promise<readonly Life[]> {
  const { kills, isEnough = () => true } = options;
  const lives: Life[] = [];
  while (lives.length < kills || (lives.length < MOST_MORE * kills && !isEnough(lives)))
    lives.push(await live(options, lives.length, true));
  lives.push(await live(options, lives.length, false));
  return lives;
}

/** How many lines begin with a word. */
export function saidOf(lives: readonly Life[], word: string): number {
  return lives.reduce((sum, { lines }) => sum + lines.filter((line) => line.startsWith(`${word} `)).length, 0);
}

/** Standard output is a file: a write to it is complete when it returns, and outlives the process. */
async function live(options: CrashOptions, life: number, kill: boolean): Promise<Life> {
  const directory = await mkdtemp(join(tmpdir(), 'insidecar-life-'));
  const said = join(directory, 'said');
  const output = await open(said, 'w');
  const child = spawn(process.execPath, [fileURLToPath(options.program), ...options.args], {
    env: { ...process.env, ...options.env, LIFE: String(life), ...(kill ? {} : { LAST: '1' }) },
    stdio: ['ignore', output.fd, 'pipe'],
  });
  const errors: Buffer[] = [];
  child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk));
  const limit = setTimeout(() => child.kill('SIGKILL'), LONGEST_LIFE_MS);
  try {
    const killing = kill ? killWhenReady(child, said, options) : undefined;
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    await killing;
    const text = await readFile(said, 'utf8');
    if (kill ? signal === 'SIGKILL' : code === 0) return { lines: completeLines(text), killed: kill };
    throw new Error(
      `life ${life} ended with code ${code}, signal ${signal}: ${Buffer.concat(errors) || text.slice(-2_000)}`,
    );
  } finally {
    clearTimeout(limit);
    await output.close();
    await rm(directory, { recursive: true });
  }
}

async function killWhenReady(child: ChildProcess, said: string, options: CrashOptions): Promise<void> {
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
  while (!isOver() && !/^ready$/m.test(await readFile(said, 'utf8'))) await later(5);
  scheduleKill(child, options);
}

function scheduleKill(child: ChildProcess, { killAfterMs: [from, to] }: CrashOptions): void {
  setTimeout(() => child.kill('SIGKILL'), from + Math.random() * (to - from));
}

/** A line that the kill cut off was never said. */
function completeLines(text: string): string[] {
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '');
}
