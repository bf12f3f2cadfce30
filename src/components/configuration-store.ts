import type { ComponentContext, OpenStore, StoreDefinition } from './component.ts';

/** The value of a configuration key. @public */
export interface ConfigurationItem {
  /** The value. */
  readonly value: string;
  /** The version of the value, if the store has one. */
  readonly version?: string;
  /** Further texts by name. Absent: none. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** How changes are to be reported. @public */
export interface ConfigurationWatchOptions {
  /** The metadata of the request. */
  readonly metadata: Readonly<Record<string, string>>;
  /**
   * Called when keys may have changed; without keys, any of them may have. More calls than changes are harmless: the
   * building block reads the keys and compares. Must not throw.
   */
  readonly changed: (keys?: readonly string[]) => void;
}

/** A watch of a configuration store. @public */
export interface ConfigurationWatch {
  /** Ends it. May be called twice. */
  close(): Promise<void>;
}

/**
 * A source of configuration: the component behind the configuration API. It reads, and says which keys may have changed;
 * the building block finds out what has changed and tells the application.
 *
 * @public
 */
export interface ConfigurationStore extends OpenStore {
  /**
   * Reads keys, those that exist; without keys, all of them. A store may limit how many keys it returns.
   *
   * @param metadata - the metadata of the request
   */
  get(
    keys: readonly string[],
    metadata: Readonly<Record<string, string>>,
  ): Promise<ReadonlyMap<string, ConfigurationItem>>;

  /**
   * Begins to report changes of keys; without keys, of all. Resolves once no change is missed any more. When a
   * connection is lost and comes back, all keys may have changed.
   */
  watch(keys: readonly string[], options: ConfigurationWatchOptions): Promise<ConfigurationWatch>;
}

/** An unopened configuration store, as passed to a sidecar. @public */
export interface ConfigurationStoreDefinition extends StoreDefinition {
  /** The building block. */
  readonly block: 'configuration';
  /** Opens the store for one sidecar. */
  open(context: ComponentContext): Promise<ConfigurationStore>;
}
