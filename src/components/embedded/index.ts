/**
 * State in a directory of the local disk.
 *
 * @packageDocumentation
 */

import type { StateDefinition } from '../../state/store.ts';
import { BOOLEAN, checkOptions, type OptionFields, required, text } from '../../util/option-fields.ts';
import { directoryState } from './directory-state.ts';

export { type SqliteStateStoreOptions, sqliteStateStore } from '../sqlite-file/index.ts';

/** Options of {@link embeddedState}. @public */
export interface EmbeddedOptions {
  /**
   * The directory of the state, relative to the working directory; created if missing, for this user only. It must be
   * on a local disk: network file systems do not lock reliably.
   */
  readonly path: string;
  /**
   * Whether this process has the directory for itself: opening rejects with `in-use` while another one has it open, and
   * so does theirs meanwhile. Otherwise other processes of this machine and user join: their sidecars are hosts of one
   * store. Default: false.
   */
  readonly exclusive?: boolean | undefined;
}

const FIELDS: OptionFields<EmbeddedOptions> = {
  path: required(text('the path of a directory')),
  exclusive: BOOLEAN,
};

/**
 * State in a directory of the local disk, in SQLite: survives restarts, crashes and power failures. On Node 22.13 and
 * later there is nothing to install or run beside the process; on Node 20, install the package
 * `@photostructure/sqlite`. Every commit is synced to the disk, on a separate thread.
 *
 * Other processes of this machine and user that open the directory join the one that holds it, over a socket in it; when
 * that one ends, another one holds the directory at once. `exclusive` is for one process.
 *
 * Opening rejects with a `StateError`: `in-use` if the process that holds it cannot be joined, `read-only`, `corrupt`,
 * `newer-format`, `driver-missing`, `full`.
 *
 * @param given - the directory, or the options
 * @example
 * ```ts
 * const sidecar = new Sidecar({ appId: 'orders', state: embeddedState('./.insidecar') });
 * ```
 * @public
 */
export function embeddedState(given: string | EmbeddedOptions): StateDefinition {
  const options = typeof given === 'string' ? { path: given } : given;
  checkOptions('options of embeddedState', options, FIELDS);
  const { path, exclusive = false } = options;
  return directoryState(path, { exclusive });
}
