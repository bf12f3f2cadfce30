import { resolve } from 'node:path';
import { localHostsOf } from '../../cluster/local-hosts.ts';
import type { StateDefinition, StateStore } from '../../state/store.ts';
import { openDirectoryStore } from './directory-store.ts';
import { type DirectorySettings, openEmbeddedStore } from './embedded-store.ts';

/** How the state of a directory is opened. */
export interface DirectoryStateOptions extends DirectorySettings {
  /** Whether this process has it for itself. Default: false. */
  readonly exclusive?: boolean;
}

/** State in a directory, which is relative to the working directory. */
export function directoryState(
  path: string,
  { exclusive = false, ...settings }: DirectoryStateOptions = {},
): StateDefinition {
  const place = resolve(path);
  const open = exclusive ? openEmbeddedStore : openDirectoryStore;
  return { type: 'embedded', place, open: (context) => named(place, open(place, context, settings)) };
}

async function named(path: string, opening: Promise<StateStore>): Promise<StateStore> {
  const store = await opening;
  localHostsOf(store).storeName = path;
  return store;
}
