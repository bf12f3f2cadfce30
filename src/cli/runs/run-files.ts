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

/** A run, as another command finds it. */
export interface RunInfo {
  readonly pid: number;
  /** Where it was started. */
  readonly directory: string;
  /** An instant, as ISO 8601. */
  readonly startedAt: string;
  /** Absolute, with `run -f`. */
  readonly runFile?: string;
  /** The name of the directory with the state that it shares with others. */
  readonly shares?: string;
  readonly inspector?: RunInspector;
  /** At least one. */
  readonly apps: readonly RunApp[];
}

/** How the inspector of a run is reached: its URL without the token, and the token. */
export interface RunInspector {
  readonly url: string;
  readonly token: string;
}

/** An application of a run, with its sidecar. */
export interface RunApp {
  readonly appId: string;
  /** That of the sidecar's HTTP API. */
  readonly httpPort: number;
  /** The URL of that API for this machine. */
  readonly url: string;
  readonly appPort?: number;
  /** The command with its arguments, and the process that it runs in once it is started. */
  readonly command?: string;
  readonly appPid?: number;
}

/** No access for group and others: the files hold tokens. */
const OTHERS = 0o077;
const DIRECTORY_MODE = 0o700;
export const FILE_MODE = 0o600;
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

/** The directory for the file of a run, made if it is missing; `undefined` if there is no place that is safe. */
export function runDirectory(environment: NodeJS.ProcessEnv): string | undefined {
  return runDirectories(environment).find(isPrepared);
}

/** Writes the file of a run, or replaces it: for its user only. */
export function writeRunFile(info: RunInfo, directory: string): void {
  const path = fileOf(info, directory);
  const unfinished = `${path}.new`;
  remove(unfinished);
  writeFileSync(unfinished, `${JSON.stringify(info)}\n`, { mode: FILE_MODE, flag: 'wx' });
  renameSync(unfinished, path);
}

export function removeRunFile(run: Pick<RunInfo, 'pid'>, directory: string): void {
  remove(fileOf(run, directory));
}

function fileOf({ pid }: Pick<RunInfo, 'pid'>, directory: string): string {
  return join(directory, `${pid}.json`);
}

/** The runs that are alive, in the order of their start. Files of others, which have not ended by themselves, are removed. */
export function liveRuns(environment: NodeJS.ProcessEnv): readonly RunInfo[] {
  return runDirectories(environment)
    .flatMap(liveRunsIn)
    .sort((a, b) => compare(a.startedAt, b.startedAt));
}

/** Those of one directory. */
export function liveRunsIn(directory: string): readonly RunInfo[] {
  if (!isOwn(directory)) return [];
  return readdirOf(directory).flatMap((name) => {
    const path = join(directory, name);
    const info = readRun(path);
    if (info === undefined) return [];
    if (isAlive(info)) return [info];
    remove(path);
    return [];
  });
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
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
  try {
    return runOf(JSON.parse(readPrivate(path) ?? ''));
  } catch {
    return undefined;
  }
}

/** The text of a file, and of no link, that this user alone may use; `undefined` for any other. */
export function readPrivate(path: string): string | undefined {
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
    return readFileSync(descriptor, 'utf8');
  } catch {
    return undefined;
  } finally {
    closeSync(descriptor);
  }
}

function runOf(value: unknown): RunInfo | undefined {
  const { pid, directory, startedAt, inspector, apps } = (value ?? {}) as Partial<RunInfo>;
  const isRun =
    // A signal to 0 or less is for many processes.
    Number.isSafeInteger(pid) &&
    Number(pid) > 0 &&
    typeof directory === 'string' &&
    typeof startedAt === 'string' &&
    !Number.isNaN(Date.parse(startedAt)) &&
    (inspector === undefined || isInspector(inspector));
  return isRun && Array.isArray(apps) && apps.length > 0 && apps.every(isApp) ? (value as RunInfo) : undefined;
}

function isInspector(value: unknown): boolean {
  const { url, token } = (value ?? {}) as Partial<RunInspector>;
  return URL.canParse(String(url)) && typeof token === 'string';
}

function isApp(value: unknown): boolean {
  const { appId, httpPort, url } = (value ?? {}) as Partial<RunApp>;
  return typeof appId === 'string' && typeof httpPort === 'number' && URL.canParse(String(url));
}

/**
 * Whether the process is there and, as far as that can be known, has one of the ports: its number may be that of
 * another. A run that ends closes its ports one after the other, the last one after its state.
 */
function isAlive({ pid, apps }: RunInfo): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return apps.some(({ httpPort }) => holdsPort(pid, httpPort) !== false);
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is gone.
  }
}
