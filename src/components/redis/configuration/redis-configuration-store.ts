import type { Logger } from '../../../util/logger.ts';
import type { ComponentContext } from '../../component.ts';
import type {
  ConfigurationItem,
  ConfigurationStore,
  ConfigurationWatch,
  ConfigurationWatchOptions,
} from '../../configuration-store.ts';
import { type RedisServerSettings, routerTo } from '../connection-options.ts';
import type { KeyRouter } from '../pubsub/key-router.ts';
import { KeyEvents } from './key-events.ts';

/** The most keys that are read when none are named: the database may have other keys than configuration. */
const MAX_KEYS = 10_000;
/** Keys of one command. */
const PAGE = 1_000;
const SEPARATOR = '||';

/** The string keys of a database. */
export class RedisConfiguration implements ConfigurationStore {
  readonly #router: KeyRouter;
  readonly #logger: Logger;
  readonly #events: KeyEvents;
  #hasWarned = false;

  constructor(server: RedisServerSettings, { logger }: ComponentContext) {
    this.#logger = logger;
    this.#router = routerTo(server, logger);
    this.#events = new KeyEvents({ server, router: this.#router, logger });
  }

  get failure(): Error | undefined {
    const { failure } = this.#router;
    return failure === undefined ? undefined : new Error(failure);
  }

  async get(keys: readonly string[]): Promise<ReadonlyMap<string, ConfigurationItem>> {
    await this.#router.reachable(0);
    const wanted = keys.length === 0 ? await this.#scan() : keys;
    const found = new Map<string, ConfigurationItem>();
    for (let at = 0; at < wanted.length; at += PAGE) {
      const page = wanted.slice(at, at + PAGE);
      // Keys of other types have no value here.
      const values = (await this.#router.send(0, ['MGET', ...page])) as readonly (Buffer | null)[];
      for (const [index, key] of page.entries()) {
        const text = values[index]?.toString() ?? '';
        if (text !== '') found.set(key, itemOf(text));
      }
    }
    return found;
  }

  async #scan(): Promise<readonly string[]> {
    const keys = new Set<string>();
    let cursor = '0';
    do {
      const command = ['SCAN', cursor, 'COUNT', String(PAGE), 'TYPE', 'string'];
      const [next, page] = (await this.#router.send(0, command)) as [Buffer, readonly Buffer[]];
      for (const key of page) keys.add(key.toString());
      cursor = next.toString();
    } while (cursor !== '0' && keys.size < MAX_KEYS);
    if (cursor !== '0' || keys.size > MAX_KEYS) this.#warnOfMany();
    return [...keys].slice(0, MAX_KEYS);
  }

  #warnOfMany(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { name: server } = this.#router;
    this.#logger.warn({ server, keys: MAX_KEYS }, 'only a part of all keys is read as configuration: name the keys');
  }

  watch(keys: readonly string[], { changed }: ConfigurationWatchOptions): Promise<ConfigurationWatch> {
    return this.#events.watch(keys, changed);
  }

  async close(): Promise<void> {
    await this.#events.close();
    await this.#router.close();
  }
}

/** A value may contain the separator; a version does not. */
function itemOf(text: string): ConfigurationItem {
  const at = text.lastIndexOf(SEPARATOR);
  return at === -1 ? { value: text } : { value: text.slice(0, at), version: text.slice(at + SEPARATOR.length) };
}
