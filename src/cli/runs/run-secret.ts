import { randomBytes } from 'node:crypto';
import { linkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FILE_MODE, readPrivate } from './run-files.ts';

const FILE = 'identity.key';
const SECRET_BYTES = 32;
const FORM = /^[\w-]{43}$/;

/**
 * The secret by which the applications of a user's commands prove their names to each other. It stays in the directory
 * for the files of runs, which is for this user only: a command that has read it may be about to start.
 *
 * @throws the error of the file system
 */
export function secretIn(directory: string): string {
  const file = join(directory, FILE);
  const known = secretOf(file);
  if (known !== undefined) return known;
  const unfinished = `${file}.${process.pid}`;
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, randomBytes(SECRET_BYTES).toString('base64url'), { mode: FILE_MODE, flag: 'wx' });
  try {
    return published(unfinished, file);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/** Gives the file its name, unless another command was faster: then that one's secret counts. */
function published(unfinished: string, file: string): string {
  try {
    linkSync(unfinished, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const secret = secretOf(file);
  if (secret === undefined) throw new Error(`${JSON.stringify(file)} is no secret for this user only: remove it`);
  return secret;
}

function secretOf(file: string): string | undefined {
  const text = readPrivate(file);
  return text !== undefined && FORM.test(text) ? text : undefined;
}
