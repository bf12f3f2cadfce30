import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { quote, StateError } from '../../state/errors.ts';
import { changeIfPossible, checkDirectoryOwner, createPrivate, makePrivate, replacePrivate } from './private-files.ts';

/** Accessible by the process's user only: messages and job data are private. */
const DIRECTORY_MODE = 0o700;
const HOLDER_FILE = 'holder.json';
/** SQLite takes a file of one byte for an empty one, too. */
const EMPTY_BYTES = 1;

/** The database file of a state directory. */
export function databaseFileOf(path: string): string {
  return join(path, 'state.db');
}

/** The write-ahead log of a state directory. */
export function logFileOf(path: string): string {
  return `${databaseFileOf(path)}-wal`;
}

/**
 * Creates the directory if it is missing, so that it survives a power failure unless it is transient. Throws if the directory or its database
 * is not writable: SQLite would open it read-only and report later errors as disk faults.
 *
 * @throws StateError `read-only` also if others could lead the files elsewhere
 */
export function ensureDirectory(path: string, isTransient = false): void {
  createDirectory(path, isTransient);
  checkDirectoryOwner(path);
  accessSync(path, constants.W_OK);
  const file = databaseFileOf(path);
  if (makePrivate(file)) accessSync(file, constants.W_OK);
  for (const beside of ['-wal', '-shm', '-journal']) makePrivate(`${file}${beside}`);
  makePrivate(join(path, HOLDER_FILE));
}

/** Creates the database file, which SQLite would create with the mode that the umask leaves. */
export function ensureDatabaseFile(path: string): void {
  const file = databaseFileOf(path);
  if (!existsSync(file)) createPrivate(file);
}

/** The numbers of network file systems on Linux: NFS, SMB, SMB 2, CIFS, AFS, Ceph. */
const NETWORKS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
]);

/** A warning for a directory on a network file system, as far as that can be told. */
export function networkWarning(path: string, type: number | undefined = fileSystemOf(path)): string | undefined {
  const network = type === undefined ? undefined : NETWORKS.get(type);
  if (network === undefined) return undefined;
  return (
    `The state directory ${quote(path)} is on a network file system (${network}), whose locks and syncs may not hold: ` +
    'two machines could open it at the same time. Use a local disk, or PostgreSQL or Redis for several machines.'
  );
}

function fileSystemOf(path: string): number | undefined {
  try {
    return process.platform === 'linux' ? statfsSync(path).type : undefined;
  } catch {
    return undefined;
  }
}

function createDirectory(path: string, isTransient: boolean): void {
  const firstCreated = mkdirSync(path, { recursive: true, mode: DIRECTORY_MODE });
  if (firstCreated === undefined) return;
  for (let created = path; created.length >= firstCreated.length; created = dirname(created)) {
    // Whatever the umask.
    changeIfPossible(() => chmodSync(created, DIRECTORY_MODE));
    if (!isTransient) syncDirectory(dirname(created));
  }
}

/** Makes the entries of a directory durable. Windows cannot open directories and does not need this. */
export function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The process that has the directory open, or had it last. The lock is SQLite's, which ends with its process. */
export interface Holder {
  readonly pid: unknown;
  readonly since: unknown;
  /** Whether the database is open, and so has a log. Earlier releases did not tell. */
  readonly isOpen?: unknown;
  /** The machine or container: process IDs of containers are often the same. Earlier releases did not tell. */
  readonly host?: unknown;
  /** Where others join it, if they can; at first only that they will. */
  readonly door?: Door | 'opening';
}

/** Where other processes join the holder of a directory. */
export interface Door {
  /** The path of a socket, from the directory; the name of a pipe on Windows. */
  readonly socket: string;
  /** Only those who can read the record know it. */
  readonly key: string;
}

/** Records that this process has the directory open, and where others can join it. */
export function recordOpening(path: string, door?: Door | 'opening'): void {
  writeHolder(path, true, door);
}

function writeHolder(path: string, isOpen: boolean, door?: Door | 'opening'): void {
  const present: Holder = { pid: process.pid, since: new Date().toISOString(), isOpen, host: hostname() };
  const holder: Holder = door === undefined ? present : { ...present, door };
  replacePrivate(join(path, HOLDER_FILE), `${JSON.stringify(holder)}\n`, databaseFileOf(path));
}

/** Records that this process is about to close the directory. */
export function recordClosing(path: string): void {
  if (!wasLeftOpen(path)) return;
  try {
    writeHolder(path, false);
  } catch {
    // The disk is full, for example. No record is better than one which says that the directory is still open.
    changeIfPossible(() => rmSync(join(path, HOLDER_FILE), { force: true }));
  }
}

/** Whether the last process that had the directory open has not closed it. */
export function wasLeftOpen(path: string): boolean {
  return readHolder(path)?.isOpen === true;
}

/**
 * Refuses a directory whose database is gone: SQLite would make a new one, and remove the log.
 *
 * @throws StateError `corrupt`
 */
export function checkDatabaseIsThere(path: string): void {
  // In this order: another process may be making it.
  const wasUsed = sizeOf(logFileOf(path)) > 0 || readHolder(path)?.isOpen !== undefined;
  if (!wasUsed || sizeOf(databaseFileOf(path)) > EMPTY_BYTES) return;
  throw new StateError(
    'corrupt',
    `The state directory ${quote(path)} was in use, but its database ${quote(databaseFileOf(path))} is missing or ` +
      'empty. Restore the directory from a copy; to begin again, remove all of it.',
  );
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** The error for a directory that is already open, for a process that would have it for itself. */
export function inUseError(path: string, cause: unknown): StateError {
  const advice = 'One process at a time can have it open: stop the other one, or give this one a directory of its own.';
  return new StateError('in-use', `${inUseText(path)}. ${advice}`, cause);
}

/** The error for a directory whose holder cannot be joined. */
export function notSharedError(path: string, cause: unknown): StateError {
  return new StateError('in-use', `${inUseText(path)}. ${whyNotShared(readHolder(path))}`, cause);
}

/** Where to join the process that has a directory open, or had it last. */
export function readDoor(path: string): Door | undefined {
  const door = readHolder(path)?.door as Partial<Door> | 'opening' | undefined;
  if (typeof door !== 'object') return undefined;
  const { socket, key } = door;
  return typeof socket === 'string' && typeof key === 'string' ? { socket, key } : undefined;
}

/** Who has a directory open, for messages. */
export function inUseText(path: string): string {
  return `The state directory ${quote(path)} is ${useBy(readHolder(path))}`;
}

function whyNotShared(holder: Holder | undefined): string {
  const { host = hostname() } = holder ?? {};
  if (host !== hostname())
    return 'Only processes of one machine can have it open together: for several, keep the state on a server.';
  return (
    'It has it for itself (option "exclusive", or an earlier release of insidecar): stop it, or give this process a ' +
    'directory of its own.'
  );
}

function useBy(holder: Holder | undefined): string {
  if (holder === undefined) return 'in use by another process';
  const { pid, since, host = hostname() } = holder;
  const isHere = host === hostname();
  if (isHere && pid === process.pid) return 'already open in this process';
  return `in use by process ${pid}${isHere ? '' : ` on host ${host}`} since ${since}`;
}

/** Reads the record of the process that has the directory open, or had it last. */
export function readHolder(path: string): Holder | undefined {
  try {
    const holder: unknown = JSON.parse(readFileSync(join(path, HOLDER_FILE), 'utf8'));
    return typeof holder === 'object' && holder !== null ? (holder as Holder) : undefined;
  } catch {
    return undefined;
  }
}
