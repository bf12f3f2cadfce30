import { promises } from 'node:fs';
import { messageOf, SidecarError } from '../../errors.ts';
import type { Logger } from '../../util/logger.ts';
import { checkOptions, type OptionFields, required, TEXT, TEXTS } from '../../util/option-fields.ts';
import { readText } from '../../util/text-file.ts';
import { clearInterval, setInterval } from '../../util/timers.ts';
import type {
  ConfigurationItem,
  ConfigurationStore,
  ConfigurationStoreDefinition,
  ConfigurationWatch,
  ConfigurationWatchOptions,
} from '../configuration-store.ts';
import { parseItems } from '../parse-configuration.ts';

/** Options of {@link fileConfiguration}. @public */
export interface FileConfigurationOptions {
  /** The JSON file. At most 1 MiB. */
  readonly path: string;
  /** App IDs that may use the store. Default: all. */
  readonly scopes?: readonly string[] | undefined;
}

const FIELDS: OptionFields<FileConfigurationOptions> = { path: required(TEXT), scopes: TEXTS };

/** How often the file is looked at: not every file system reports changes, and editors and mounts replace files. */
const POLL_MS = 500;
/** A file that has just been written may be written again without another time: some file systems count seconds. */
const YOUNG_MS = 3_000;

/**
 * Configuration in a JSON file: an object whose members are texts, or objects with `value`, `version` and `metadata`. A
 * change of the file is seen within a second. A file that cannot be used is logged, and the last good one stays.
 *
 * @param name - the name of the store in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options; `start()` throws it for a file that cannot be used.
 * @public
 */
export function fileConfiguration(name: string, options: FileConfigurationOptions): ConfigurationStoreDefinition {
  const what = `fileConfiguration ${JSON.stringify(name)}`;
  checkOptions(`options of ${what}`, options, FIELDS);
  const { path, scopes } = options;
  return {
    block: 'configuration',
    name,
    type: 'configuration.local.file',
    version: 'v1',
    ...(scopes === undefined ? {} : { scopes }),
    open: async ({ logger }) => {
      try {
        return await FileConfiguration.open(path, logger);
      } catch (cause) {
        const message = `the file ${JSON.stringify(path)} of ${what} cannot be used: ${messageOf(cause)}`;
        throw new SidecarError('ERR_CONFIGURATION', message, { cause });
      }
    },
  };
}

/**
 * Reads the content of a configuration file.
 *
 * @throws Error whose message says what is wrong, without values.
 */
export function parseConfigurationFile(text: string): ReadonlyMap<string, ConfigurationItem> {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    // The parser's message quotes the text.
    throw new Error('it is not JSON');
  }
  return parseItems(content, 'its content');
}

/** The last good content of a file. */
class FileConfiguration implements ConfigurationStore {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #listeners = new Set<() => void>();
  #text: string;
  #items: ReadonlyMap<string, ConfigurationItem>;
  /** Why the file cannot be used at present; the last one logged. */
  #problem: string | undefined;
  /** Identifies the version of the file: another one shows that it has been written. */
  #stamp: string | undefined;
  #polling: NodeJS.Timeout | undefined;
  #isReading = false;

  private constructor(path: string, logger: Logger, text: string) {
    this.#path = path;
    this.#logger = logger;
    this.#text = text;
    this.#items = parseConfigurationFile(text);
  }

  static async open(path: string, logger: Logger): Promise<FileConfiguration> {
    const opened = new FileConfiguration(path, logger, await readText(path));
    opened.#polling = setInterval(() => void opened.#read(), POLL_MS);
    return opened;
  }

  /** Reads the file again; never rejects. */
  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      if (!(await this.#mayHaveChanged())) return;
      const text = await readText(this.#path);
      if (text === this.#text && this.#problem === undefined) return;
      this.#items = parseConfigurationFile(text);
      const isOther = text !== this.#text;
      this.#text = text;
      this.#problem = undefined;
      if (isOther) for (const changed of this.#listeners) changed();
    } catch (error) {
      this.#tellOnce(messageOf(error));
    } finally {
      this.#isReading = false;
    }
  }

  async #mayHaveChanged(): Promise<boolean> {
    // The read that follows reports a file that is gone.
    const found = await promises.stat(this.#path).catch(() => undefined);
    const stamp = found && [found.mtimeMs, found.ctimeMs, found.size, found.ino].join();
    const isKnown = stamp !== undefined && stamp === this.#stamp;
    this.#stamp = stamp;
    return !isKnown || Date.now() - (found?.mtimeMs ?? 0) < YOUNG_MS;
  }

  #tellOnce(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#logger.error(
      { path: this.#path, problem },
      'a configuration file cannot be used: its last good content stays',
    );
  }

  async get(keys: readonly string[]): Promise<ReadonlyMap<string, ConfigurationItem>> {
    if (keys.length === 0) return this.#items;
    return new Map(
      keys.flatMap((key) => {
        const item = this.#items.get(key);
        return item === undefined ? [] : [[key, item] as const];
      }),
    );
  }

  async watch(_keys: readonly string[], { changed }: ConfigurationWatchOptions): Promise<ConfigurationWatch> {
    const listener = (): void => changed();
    this.#listeners.add(listener);
    return { close: async () => void this.#listeners.delete(listener) };
  }

  async close(): Promise<void> {
    clearInterval(this.#polling);
    this.#listeners.clear();
  }
}
