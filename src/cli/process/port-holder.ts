import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

const LISTENING = '0A';

/** Describes the process that listens on a port of this machine; `undefined` if unknown (only Linux supports this). */
export function portHolder(port: number): string | undefined {
  const sockets = listeningSockets(port);
  if (sockets.size === 0) return undefined;
  for (const pid of listOf('/proc').filter((name) => /^\d+$/.test(name))) {
    const isHolder = listOf(`/proc/${pid}/fd`).some((fd) => sockets.has(linkOf(`/proc/${pid}/fd/${fd}`)));
    if (isHolder) return `process ${pid} (${programOf(pid)})`;
  }
  return undefined;
}

/** The name of a process's program. `comm` is the name of its thread, which Node 24 sets, and may be cut off. */
function programOf(pid: string): string {
  // The file of a program may have been replaced since by another release.
  const file = linkOf(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, '');
  const [command = ''] = textOf(`/proc/${pid}/cmdline`).split('\0');
  return basename(file) || basename(command) || textOf(`/proc/${pid}/comm`).trim();
}

/** Whether a process listens on a port of this machine; `undefined` if that cannot be known. */
export function holdsPort(pid: number, port: number): boolean | undefined {
  const files = listOf(`/proc/${pid}/fd`);
  if (files.length === 0) return undefined;
  const sockets = listeningSockets(port);
  return files.some((fd) => sockets.has(linkOf(`/proc/${pid}/fd/${fd}`)));
}

/** The names of listening sockets among the open files of a process. */
function listeningSockets(port: number): ReadonlySet<string> {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  const rows = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => textOf(file).split('\n'));
  const fields = rows.map((row) => row.trim().split(/\s+/));
  const found = fields.filter(([, local = '', , state]) => local.endsWith(`:${hexPort}`) && state === LISTENING);
  return new Set(found.map((row) => `socket:[${row[9]}]`));
}

/** Other users' processes cannot be inspected, and processes may end meanwhile. */
function listOf(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
