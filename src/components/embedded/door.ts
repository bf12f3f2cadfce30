import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, chownSync, lstatSync, mkdtempSync, rmdirSync, rmSync, statSync } from 'node:fs';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { type Door, databaseFileOf, readDoor } from './directory.ts';
import { changeIfPossible } from './private-files.ts';

/** For this user only; the directory of a socket usually has such a mode, too. */
const SOCKET_MODE = 0o600;
const SOCKET_NAME = 'holder.sock';
/** The kernel's limit is 108 on Linux and 104 on macOS, with a NUL at the end. */
const MAX_SOCKET_PATH_BYTES = 103;
const TEMPORARY = 'insidecar-';
const KEY_BYTES = 32;

/**
 * Has a server listen for the processes that join the holder of a directory: in the directory, or if its path is too
 * long for a socket or its file system has none, in a directory of its own for temporary files.
 *
 * @throws the error of the last place, if none takes a socket
 */
export async function openDoor(server: Server, path: string): Promise<Door> {
  const key = randomBytes(KEY_BYTES).toString('base64url');
  if (process.platform === 'win32') {
    const socket = `\\\\.\\pipe\\${TEMPORARY}${randomUUID()}`;
    await listen(server, socket);
    return { socket, key };
  }
  removeFormer(path);
  const inside = join(path, SOCKET_NAME);
  if (fits(inside) && (await tryToListen(server, inside))) return { socket: makePrivate(inside, path), key };
  const outside = join(mkdtempSync(join(temporaryPlace(), TEMPORARY)), SOCKET_NAME);
  try {
    await listen(server, outside);
  } catch (error) {
    removeSocket(outside);
    throw error;
  }
  return { socket: makePrivate(outside, path), key };
}

/** Where to connect to. */
export function socketOf(path: string, { socket }: Door): string {
  return process.platform === 'win32' ? socket : nearest(resolve(path, socket));
}

/** A path that is too long may be short enough from the working directory. */
function nearest(socket: string): string {
  const near = relative(process.cwd(), socket);
  return fits(socket) || !fits(near) ? socket : near;
}

function fits(socket: string): boolean {
  return Buffer.byteLength(socket) <= MAX_SOCKET_PATH_BYTES;
}

function temporaryPlace(): string {
  const place = tmpdir();
  // The six random letters that follow the name, and the socket in it.
  return fits(join(place, `${TEMPORARY}??????`, SOCKET_NAME)) ? place : '/tmp';
}

async function tryToListen(server: Server, socket: string): Promise<boolean> {
  try {
    await listen(server, socket);
    return true;
  } catch {
    return false;
  }
}

function listen(server: Server, socket: string): Promise<void> {
  return new Promise((done, reject) => {
    server.once('error', reject);
    // Exclusive: in a worker of Node's cluster, the primary would listen instead.
    server.listen({ path: socket, exclusive: true }, () => {
      server.off('error', reject);
      done();
    });
  });
}

/** Returns how the record names the socket: from the directory, which may have other paths elsewhere. */
function makePrivate(socket: string, path: string): string {
  changeIfPossible(() => chmodSync(socket, SOCKET_MODE));
  // The user of the directory joins what root holds.
  if (process.geteuid?.() === 0)
    changeIfPossible(() => {
      const { uid } = statSync(databaseFileOf(path));
      chownSync(socket, uid, -1);
      if (dirname(socket) !== path) chownSync(dirname(socket), uid, -1);
    });
  return dirname(socket) === path ? SOCKET_NAME : socket;
}

/** Removes the socket of a holder that was killed. Only the present holder calls this. */
function removeFormer(path: string): void {
  const socket = readDoor(path)?.socket;
  changeIfPossible(() => rmSync(join(path, SOCKET_NAME), { force: true }));
  if (socket !== undefined && isAbsolute(socket)) removeSocket(socket);
}

/** Removes a socket in a directory of its own, and that directory; nothing else, whatever the record says. */
export function removeSocket(socket: string): void {
  const directory = dirname(socket);
  const isOurs = socket === join(directory, SOCKET_NAME) && directory.startsWith(join(temporaryPlace(), TEMPORARY));
  if (!isOurs) return;
  changeIfPossible(() => {
    if (lstatSync(socket, { throwIfNoEntry: false })?.isSocket() === true) rmSync(socket);
    rmdirSync(directory);
  });
}
