import { statSync } from 'node:fs';
import { quote, StateError } from '../../state/errors.ts';
import { databaseFileOf } from './directory.ts';

/** Identifies a file, whatever its path. */
interface FileId {
  readonly dev: number;
  readonly ino: number;
}

/**
 * The database file that is open. It can be removed or replaced meanwhile; what is written to it then is gone with the
 * process. Only its path is looked at: opening and closing it here would drop SQLite's lock.
 */
export class DatabaseFile {
  readonly #directory: string;
  /** For messages, too. */
  readonly path: string;
  readonly #opened: FileId | undefined;

  constructor(directory: string) {
    this.#directory = directory;
    this.path = databaseFileOf(directory);
    this.#opened = fileIdOf(this.path);
  }

  /** Whether it is still the file at its path. Takes 2 to 3 µs. Some file systems number no files: assumed there. */
  get isInPlace(): boolean {
    if (this.#opened === undefined || this.#opened.ino === 0) return true;
    let present: FileId | undefined;
    try {
      present = fileIdOf(this.path);
    } catch {
      // Unknown, for example without permission to read the directory any more: the open file still works.
      return true;
    }
    return present?.ino === this.#opened.ino && present.dev === this.#opened.dev;
  }

  /** @throws StateError `failed` if it is not at its path any more. */
  checkInPlace(): void {
    if (this.isInPlace) return;
    throw new StateError(
      'failed',
      `The state directory ${quote(this.#directory)} was removed or replaced while it was in use: its database ` +
        `${quote(this.path)} is not the one that is open. Nothing is stored any more; start again with what is there.`,
    );
  }
}

function fileIdOf(path: string): FileId | undefined {
  return statSync(path, { throwIfNoEntry: false });
}
