import { checkOptions, type OptionFields, TEXTS } from '../../util/option-fields.ts';
import { LOCK_FIELDS } from '../lock-options.ts';
import type { LockStoreDefinition, LockStoreOptions } from '../lock-store.ts';
import { memoryState } from '../memory/memory-store.ts';
import { keyValueStore } from './index.ts';
import { KeyValueLocks } from './key-value-locks.ts';

/** Options of {@link memoryLocks} and {@link durableLocks}. @public */
export interface LocksOptions extends LockStoreOptions {
  /** App IDs that may use the store. Default: all. */
  readonly scopes?: readonly string[] | undefined;
}

const FIELDS: OptionFields<LocksOptions> = { ...LOCK_FIELDS, scopes: TEXTS };

/**
 * Locks in memory: of the sidecars of this process with the same definition, gone with the process. They expire by the
 * sidecar's clock, so by the virtual one in tests.
 *
 * @param name - the name of the store in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @public
 */
export function memoryLocks(name: string, options: LocksOptions = {}): LockStoreDefinition {
  checkOptions(`options of memoryLocks ${JSON.stringify(name)}`, options, FIELDS);
  return definitionOf(name, 'lock.in-memory', options, keyValueStore(storeName(name), { store: memoryState() }).open);
}

/**
 * Locks in the sidecar's state store, as durable as that store, and shared by all that share it. They expire by the
 * clocks of the sidecars: several machines must agree on the time.
 *
 * @param name - the name of the store in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const sidecar = new Sidecar({ appId: 'orders', state: embeddedState({ path: './.insidecar' }), components: [durableLocks('locks')] });
 * ```
 * @public
 */
export function durableLocks(name: string, options: LocksOptions = {}): LockStoreDefinition {
  checkOptions(`options of durableLocks ${JSON.stringify(name)}`, options, FIELDS);
  return definitionOf(name, 'lock.durable', options, keyValueStore(storeName(name)).open);
}

/** Not that of a state store: both may have one name in different applications. */
function storeName(name: string): string {
  return `lock ${name}`;
}

function definitionOf(
  name: string,
  type: string,
  { scopes, keyPrefix }: LocksOptions,
  open: ReturnType<typeof keyValueStore>['open'],
): LockStoreDefinition {
  return {
    block: 'lock',
    name,
    type,
    version: 'v1',
    ...(scopes === undefined ? {} : { scopes }),
    options: keyPrefix === undefined ? {} : { keyPrefix },
    open: async (context) => new KeyValueLocks(await open(context)),
  };
}
