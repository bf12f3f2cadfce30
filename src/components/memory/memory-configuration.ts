import { ANYTHING, checkOptions, type OptionFields, TEXTS } from '../../util/option-fields.ts';
import type {
  ConfigurationItem,
  ConfigurationStore,
  ConfigurationStoreDefinition,
  ConfigurationWatch,
  ConfigurationWatchOptions,
} from '../configuration-store.ts';
import { parseItem, parseItems } from '../parse-configuration.ts';

/** Options of {@link memoryConfiguration}. @public */
export interface MemoryConfigurationOptions {
  /** The first values, by their keys. Default: none. */
  readonly items?: Readonly<Record<string, string | ConfigurationItem>> | undefined;
  /** App IDs that may use the store. Default: all. */
  readonly scopes?: readonly string[] | undefined;
}

/** A configuration store whose values are set in code. @public */
export interface MemoryConfiguration extends ConfigurationStoreDefinition {
  /** Sets the value of a key, and reports the change. */
  set(key: string, item: string | ConfigurationItem): void;
  /** Removes a key, and reports that. Returns whether there was one. */
  delete(key: string): boolean;
}

const FIELDS: OptionFields<MemoryConfigurationOptions> = {
  // `parseItems` checks it.
  items: ANYTHING,
  scopes: TEXTS,
};

/**
 * Configuration in memory, for tests: set in code, and shared by the sidecars with the same definition.
 *
 * @param name - the name of the store in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const settings = memoryConfiguration('settings', { items: { 'log-level': 'info' } });
 * const sidecar = new Sidecar({ appId: 'orders', components: [settings] });
 * settings.set('log-level', 'debug');
 * ```
 * @public
 */
export function memoryConfiguration(name: string, options: MemoryConfigurationOptions = {}): MemoryConfiguration {
  const what = `memoryConfiguration ${JSON.stringify(name)}`;
  checkOptions(`options of ${what}`, options, FIELDS);
  const { items = {}, scopes } = options;
  const values = new MemoryItems(parseItems(items, `items of ${what}`));
  return {
    block: 'configuration',
    name,
    type: 'configuration.in-memory',
    version: 'v1',
    ...(scopes === undefined ? {} : { scopes }),
    open: async () => new MemoryConfigurationStore(values),
    set: (key, item) => values.set(key, parseItem(item, `${JSON.stringify(key)} of ${what}`)),
    delete: (key) => values.delete(key),
  };
}

type Listener = (key: string) => void;

/** The values of all sidecars with one definition. */
class MemoryItems {
  readonly #items: Map<string, ConfigurationItem>;
  readonly #listeners = new Set<Listener>();

  constructor(items: ReadonlyMap<string, ConfigurationItem>) {
    this.#items = new Map(items);
  }

  get(keys: readonly string[]): Map<string, ConfigurationItem> {
    if (keys.length === 0) return new Map(this.#items);
    return new Map(
      keys.flatMap((key) => {
        const item = this.#items.get(key);
        return item === undefined ? [] : [[key, item] as const];
      }),
    );
  }

  set(key: string, item: ConfigurationItem): void {
    this.#items.set(key, item);
    this.#tell(key);
  }

  delete(key: string): boolean {
    const existed = this.#items.delete(key);
    if (existed) this.#tell(key);
    return existed;
  }

  #tell(key: string): void {
    for (const listener of this.#listeners) listener(key);
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

/** The values, as one sidecar uses them. */
class MemoryConfigurationStore implements ConfigurationStore {
  readonly #items: MemoryItems;
  readonly #stops = new Set<() => void>();

  constructor(items: MemoryItems) {
    this.#items = items;
  }

  async get(keys: readonly string[]): Promise<ReadonlyMap<string, ConfigurationItem>> {
    return this.#items.get(keys);
  }

  async watch(_keys: readonly string[], { changed }: ConfigurationWatchOptions): Promise<ConfigurationWatch> {
    const stop = this.#items.listen((key) => changed([key]));
    this.#stops.add(stop);
    return {
      close: async () => {
        this.#stops.delete(stop);
        stop();
      },
    };
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#stops.clear();
  }
}
