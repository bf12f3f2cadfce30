import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { quote, StateError } from '../../state/errors.ts';

/** Accessible by the process's user only: messages and job data are private. */
const DIRECTORY_MODE = 0o700;
const HOLDER_FILE = 'holder.json';

/** The database file of a state directory. */
export function databaseFileOf(path: string): string {
  return join(path, 'state.db');
}

/**
 * Creates the directory if it is missing, so that it survives a power failure. Throws if the directory or its database
 * is not writable: SQLite would open it read-only and report later errors as disk faults.
 */
export function ensureDirectory(path: string): void {
  createDirectory(path);
  accessSync(path, constants.W_OK);
  const file = databaseFileOf(path);
  if (existsSync(file)) accessSync(file, constants.W_OK);
}

function createDirectory(path: string): void {
  const firstCreated = mkdirSync(path, { recursive: true, mode: DIRECTORY_MODE });
  if (firstCreated === undefined) return;
  for (let created = path; created.length >= firstCreated.length; created = dirname(created))
    syncDirectory(dirname(created));
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

/** Records who has the directory open. Only for messages: the lock is SQLite's, which ends with its process. */
export function writeHolder(path: string): void {
  const holder = { pid: process.pid, since: new Date().toISOString() };
  writeFileSync(join(path, HOLDER_FILE), `${JSON.stringify(holder)}\n`, { mode: 0o600 });
}

/** The error for a directory that is already open. */
export function inUseError(path: string, cause: unknown): StateError {
  const holder = readHolder(path);
  const who =
    holder?.pid === process.pid
      ? 'already open in this process'
      : `in use by ${holder === undefined ? 'another process' : `process ${holder.pid} since ${holder.since}`}`;
  const advice = 'One process at a time can have it open: stop the other one, or give this one a directory of its own.';
  return new StateError('in-use', `The state directory ${quote(path)} is ${who}. ${advice}`, cause);
}

function readHolder(path: string): { readonly pid: unknown; readonly since: unknown } | undefined {
  try {
    return JSON.parse(readFileSync(join(path, HOLDER_FILE), 'utf8')) as { pid: unknown; since: unknown };
  } catch {
    return undefined;
  }
}
