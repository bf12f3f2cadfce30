import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { quote, StateError } from '../../state/errors.ts';

/** For the process's user only: messages and job data are private. */
const FILE_MODE = 0o600;
const OTHERS = 0o077;
const ROOT = 0;
const EXCLUSIVE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/**
 * Refuses a directory of another user, who could read and replace what is in it, or lead it elsewhere. Root is refused
 * none: in containers, directories of the host belong to its users.
 *
 * @throws StateError `read-only`
 */
export function checkDirectoryOwner(path: string): void {
  const own = ownId();
  const { uid } = statSync(path);
  if (own === undefined || own === ROOT || uid === own || uid === ROOT) return;
  throw new StateError(
    'read-only',
    `The state directory ${quote(path)} belongs to user ${uid}, who could read and replace what is in it; this process ` +
      `runs as user ${own}. Give it a directory of its own, or give it this one: chown -R ${own} ${quote(path)}`,
  );
}

/**
 * Makes a file of a state directory private if it is there; answers whether it is. It is not opened: closing it would
 * drop SQLite's lock.
 *
 * @throws StateError `read-only` if it is a link, no file, or the file of another user
 */
export function makePrivate(file: string): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined) return false;
  if (!found.isFile()) {
    const what = found.isSymbolicLink() ? 'a link' : 'no file';
    throw refused(file, `is ${what}, and what it leads to is not touched. Remove it`);
  }
  checkOwner(file, found);
  if ((found.mode & OTHERS) !== 0) changeIfPossible(() => chmodSync(file, FILE_MODE));
  return true;
}

function checkOwner(file: string, { uid }: Stats): void {
  const own = ownId();
  const isTrusted =
    own === undefined || uid === own || uid === ROOT || (own === ROOT && uid === ownerOf(dirname(file)));
  if (!isTrusted)
    throw refused(file, `belongs to user ${uid}. If its content can be trusted, give it to user ${own} (chown)`);
}

function refused(file: string, why: string): StateError {
  return new StateError('read-only', `The file ${quote(file)} of the state directory ${why}.`);
}

/** Creates an empty file, so that what SQLite puts beside it gets the same mode. */
export function createPrivate(file: string): void {
  try {
    closeSync(openPrivate(file));
  } catch (error) {
    // Another process was faster: SQLite's lock decides between them.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Replaces a file as a whole: a link in its place is not followed. It gets the owner of the file `like`. */
export function replacePrivate(file: string, text: string, like: string): void {
  const unfinished = `${file}.new`;
  rmSync(unfinished, { force: true });
  const descriptor = openPrivate(unfinished);
  try {
    writeSync(descriptor, text);
    // A command that root runs on the state of an application leaves it readable for that.
    if (ownId() === ROOT) changeIfPossible(() => fchownSync(descriptor, ownerOf(like), -1));
  } finally {
    closeSync(descriptor);
  }
  renameSync(unfinished, file);
}

function openPrivate(file: string): number {
  const descriptor = openSync(file, EXCLUSIVE, FILE_MODE);
  // Whatever the umask.
  changeIfPossible(() => fchmodSync(descriptor, FILE_MODE));
  return descriptor;
}

/** Changes a mode or an owner: some file systems have none, or fixed ones. */
export function changeIfPossible(change: () => void): void {
  try {
    change();
  } catch {
    // It stays as it is.
  }
}

function ownerOf(path: string): number {
  return statSync(path).uid;
}

/** `undefined` on Windows, which has access lists instead. */
function ownId(): number | undefined {
  return process.geteuid?.();
}
