import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, realpath, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { invalidConfiguration } from '../../util/option-fields.ts';
import { shown } from '../../util/shown.ts';
import { BindingError } from '../binding.ts';

/** Directories of the system that hold no files of applications. */
const FORBIDDEN: readonly string[] = ['/proc', '/sys', '/boot', '/var/run/secrets', '/run/secrets'];
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
/** A file that is being written; one that a crash has left is shown to nobody. */
const UNFINISHED = /^\.insidecar-[0-9a-f-]{36}$/;
/** The most files of a list. */
const MAX_LISTED = 100_000;

/** Errors of the file system in words. They name the file as the caller does. */
const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of its path is no directory',
  EISDIR: 'it is a directory',
  ENOTEMPTY: 'it is a directory that is not empty',
  EEXIST: 'a part of its path is no directory',
  ELOOP: 'it is a link',
  EACCES: 'the permission is missing',
  EPERM: 'the permission is missing',
  ENAMETOOLONG: 'its name is too long',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
};

/**
 * A directory whose files callers name. A name is a path below the directory, which is the root of all names: `..` does
 * not lead above it, and links are followed only as long as they stay below it.
 */
export class StorageRoot {
  /** Without links. */
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /**
   * Makes the directory if it is missing.
   *
   * @throws SidecarError `ERR_CONFIGURATION` if it cannot be used.
   */
  static async open(path: string, what: string): Promise<StorageRoot> {
    const wrong = (problem: string): Error => invalidConfiguration(`rootPath of ${what}: ${problem}`);
    const absolute = resolve(path);
    // Before it is made, too: a directory may not be made in one of them.
    if (isForbidden(absolute)) throw wrong('it belongs to the system');
    let real: string;
    try {
      await mkdir(absolute, { recursive: true });
      real = await realpath(absolute);
    } catch (error) {
      throw wrong(`the directory cannot be used (${codeOf(error)})`);
    }
    if (isForbidden(real)) throw wrong('it belongs to the system');
    return new StorageRoot(real);
  }

  /** Replaces a file in one step, or makes it. Returns its path below the root. */
  async write(name: string, data: Uint8Array): Promise<string> {
    const path = this.#fileNamed(name);
    return this.#on(name, async () => {
      await this.#makeDirectories(dirname(path));
      const directory = await this.#within(dirname(path));
      const unfinished = join(directory, `.insidecar-${randomUUID()}`);
      try {
        await writeThrough(unfinished, data);
        await rename(unfinished, join(directory, baseOf(path)));
      } catch (error) {
        await rm(unfinished, { force: true });
        throw error;
      }
      return this.#nameOf(path);
    });
  }

  /** The bytes of a file. */
  async read(name: string, limitBytes: number): Promise<Uint8Array> {
    const path = this.#fileNamed(name);
    return this.#on(name, async () => {
      const file = await open(await this.#within(path), READ);
      try {
        return await readRegular(file, limitBytes);
      } finally {
        await file.close();
      }
    });
  }

  /** Deletes a file, or a directory that is empty. */
  async delete(name: string): Promise<void> {
    const path = this.#fileNamed(name);
    return this.#on(name, async () => {
      // A link is deleted itself.
      const target = join(await this.#within(dirname(path)), baseOf(path));
      await unlink(target).catch((error: unknown) => {
        // The second code is that of macOS.
        if (!['EISDIR', 'EPERM'].includes(codeOf(error))) throw error;
        return rmdir(target).catch((second: unknown) => {
          throw codeOf(second) === 'ENOTDIR' ? error : second;
        });
      });
    });
  }

  /** The files below a directory, by their paths below the root, sorted. Links are left out. */
  async list(name: string): Promise<readonly string[]> {
    const path = this.#pathOf(name);
    return this.#on(name, async () => {
      const files: string[] = [];
      const directories = [await this.#within(path)];
      for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
        for (const entry of await readdir(directory, { withFileTypes: true })) {
          const found = join(directory, entry.name);
          if (entry.isDirectory()) directories.push(found);
          else if (entry.isFile() && !UNFINISHED.test(entry.name)) files.push(this.#nameOf(found));
          if (files.length + directories.length > MAX_LISTED)
            throw new BindingError(`there are more than ${MAX_LISTED} files: expected fileName of a smaller directory`);
        }
      }
      return files.sort();
    });
  }

  #fileNamed(name: string): string {
    const path = this.#pathOf(name);
    if (path === this.#path) throw new BindingError('metadata fileName is missing: expected the path of a file');
    if (UNFINISHED.test(baseOf(path))) throw new BindingError(`file ${shown(name)} is one of insidecar's own`);
    return path;
  }

  /** Where a name leads without links. */
  #pathOf(name: string): string {
    if (name.includes('\0')) throw new BindingError('metadata fileName has a NUL character: expected a path');
    if (sep === '\\' && /[:\\]/.test(name))
      throw new BindingError('metadata fileName has a colon or a backslash: expected a path with slashes');
    const parts: string[] = [];
    for (const part of name.split('/')) {
      if (part === '..') parts.pop();
      else if (part !== '' && part !== '.') parts.push(part);
    }
    return join(this.#path, ...parts);
  }

  /** Level by level: none is made behind a link that leads out. */
  async #makeDirectories(path: string): Promise<void> {
    if (path === this.#path) return;
    await this.#makeDirectories(dirname(path));
    const parent = await this.#within(dirname(path));
    await mkdir(join(parent, baseOf(path))).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
  }

  /** The path without links. @throws BindingError if it leads out of the root */
  async #within(path: string): Promise<string> {
    const real = await realpath(path);
    if (!isBelow(this.#path, real)) throw new BindingError('a link in its path leads out of the directory');
    return real;
  }

  #nameOf(path: string): string {
    return relative(this.#path, path).split(sep).join('/');
  }

  /** Errors of the system have paths of the machine in their texts. */
  async #on<T>(name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const problem = error instanceof BindingError ? error.message : (PROBLEMS[codeOf(error)] ?? codeOf(error));
      throw new BindingError(`file ${shown(name)}: ${problem}`, {}, { cause: error });
    }
  }
}

function isBelow(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

function isForbidden(path: string): boolean {
  return FORBIDDEN.some((root) => isBelow(root, path));
}

function baseOf(path: string): string {
  return path.slice(path.lastIndexOf(sep) + 1);
}

function codeOf(error: unknown): string {
  const { code } = Object(error) as { code?: unknown };
  return typeof code === 'string' ? code : 'it failed';
}

/** Onto the disk: a file that has its name is whole, also after a power failure. */
async function writeThrough(path: string, data: Uint8Array): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(data);
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function readRegular(file: FileHandle, limitBytes: number): Promise<Uint8Array> {
  const stat = await file.stat();
  if (!stat.isFile()) throw new BindingError(stat.isDirectory() ? 'it is a directory' : 'it is no regular file');
  const data = stat.size > limitBytes ? undefined : await file.readFile();
  // It may have grown meanwhile.
  if (data === undefined || data.length > limitBytes) throw new BindingError(`it is larger than ${limitBytes} bytes`);
  return data;
}
