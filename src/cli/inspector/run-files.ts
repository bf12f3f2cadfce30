import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { holdsPort } from '../process/port-holder.ts';

/** A run with an inspector, as another command finds it. */
export interface RunInfo {
  readonly pid: number;
  /** Where it was started. */
  readonly directory: string;
  /** The inspector's URL, without the token. */
  readonly url: string;
  readonly token: string;
  readonly apps: readonly { readonly appId: string; readonly httpPort: number }[];
}

/** No access for group and others: the files hold tokens. */
const OTHERS = 0o077;
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
const FILE = /^(\d+)\.json$/;

/**
 * Where runs leave their files: in the directory that the system keeps for the user, else in one of the user's own below
 * that for temporary files.
 */
export function runDirectories(environment: NodeJS.ProcessEnv): readonly string[] {
  const uid = process.getuid?.();
  if (uid === undefined) return [join(tmpdir(), 'insidecar-runs')];
  // A shell of cron or su has no variable for the same directory.
  const runtime = environment['XDG_RUNTIME_DIR'] || `/run/user/${uid}`;
  return [...(isOwn(runtime) ? [join(runtime, 'insidecar')] : []), join(tmpdir(), `insidecar-${uid}`)];
}

/**
 * Writes the file of this run, for its user only; answers what removes it, or `undefined` if there is no place that is
 * safe.
 */
export function writeRunFile(info: RunInfo, environment: NodeJS.ProcessEnv): (() => void) | undefined {
  const directory = runDirectories(environment).find(isPrepared);
  if (directory === undefined) return undefined;
  const path = join(directory, `${info.pid}.json`);
  const unfinished = `${path}.new`;
  remove(unfinished);
  writeFileSync(unfinished, `${JSON.stringify(info)}\n`, { mode: FILE_MODE, flag: 'wx' });
  renameSync(unfinished, path);
  return () => remove(path);
}

/** The runs that are alive. Files of others, which have not ended by themselves, are removed. */
export function liveRuns(environment: NodeJS.ProcessEnv): readonly RunInfo[] {
  return runDirectories(environment)
    .filter(isOwn)
    .flatMap((directory) => readdirOf(directory).map((name) => join(directory, name)))
    .flatMap((path) => {
      const info = readRun(path);
      if (info === undefined) return [];
      if (isAlive(info)) return [info];
      remove(path);
      return [];
    });
}

/** Makes the directory if it is missing; whether it is safe to use. */
function isPrepared(directory: string): boolean {
  try {
    mkdirSync(directory, { mode: DIRECTORY_MODE });
    // Whatever the umask.
    chmodSync(directory, DIRECTORY_MODE);
  } catch {
    // It is there, or its parent is not.
  }
  return isOwn(directory);
}

/** Whether it is a directory, and no link, that this user alone may use. */
function isOwn(directory: string): boolean {
  try {
    const found = lstatSync(directory);
    const uid = process.getuid?.();
    return found.isDirectory() && (uid === undefined || (found.uid === uid && (found.mode & OTHERS) === 0));
  } catch {
    return false;
  }
}

function readdirOf(directory: string): readonly string[] {
  return readdirSync(directory).filter((name) => FILE.test(name));
}

function readRun(path: string): RunInfo | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch {
    return undefined;
  }
  try {
    const { uid, mode } = fstatSync(descriptor);
    const own = process.getuid?.();
    if (own !== undefined && (uid !== own || (mode & OTHERS) !== 0)) return undefined;
    return runOf(JSON.parse(readFileSync(descriptor, 'utf8')));
  } catch {
    return undefined;
  } finally {
    closeSync(descriptor);
  }
}

function runOf(value: unknown): RunInfo | undefined {
  const { pid, directory, url, token, apps } = (value ?? {}) as Partial<RunInfo>;
  const isRun =
    Number.isSafeInteger(pid) &&
    typeof directory === 'string' &&
    URL.canParse(String(url)) &&
    typeof token === 'string';
  return isRun && Array.isArray(apps) && apps.every(isApp) ? (value as RunInfo) : undefined;
}

function isApp(value: unknown): boolean {
  const { appId, httpPort } = (value ?? {}) as Partial<RunInfo['apps'][number]>;
  return typeof appId === 'string' && typeof httpPort === 'number';
}

/** Whether the process is there and, as far as that can be known, has the port: its number may be that of another. */
function isAlive({ pid, url }: RunInfo): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return holdsPort(pid, Number(new URL(url).port)) !== false;
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is gone.
  }
}
