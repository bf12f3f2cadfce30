import type { ConfigurationItem } from '../../components/configuration-store.ts';
import {
  BOOLEAN,
  checkOptions,
  invalidArgument,
  isTexts,
  type OptionFields,
  SIGNAL,
  TEXT_BY_NAME,
} from '../../util/option-fields.ts';
import { shown } from '../../util/shown.ts';
import { ChangeQueue } from './change-queue.ts';
import type { ConfigurationRequest, ConfigurationService } from './configuration-service.ts';
import type { ConfigurationSubscription } from './subscription.ts';

/** Options of reading configuration. @public */
export interface ConfigurationReadOptions {
  /** Passed to the store, such as `pgNotifyChannel`. Default: none. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Options of {@link Configuration.watch}. @public */
export interface ConfigurationWatchingOptions extends ConfigurationReadOptions {
  /** Whether the present values come first, like changes. Default: `false`, changes only. */
  readonly initial?: boolean | undefined;
  /** Ends the iteration, which then throws its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A change of a configuration key. @public */
export interface ConfigurationChange {
  /** The key. */
  readonly key: string;
  /** The new value; `undefined` if the key is gone. */
  readonly value: string | undefined;
  /** The version of the value, if the store has one. */
  readonly version?: string;
  /** Further texts of the value, if there are any. */
  readonly metadata?: Readonly<Record<string, string>>;
}

const READ_OPTIONS: OptionFields<ConfigurationReadOptions> = { metadata: TEXT_BY_NAME };
const WATCH_OPTIONS: OptionFields<ConfigurationWatchingOptions> = { ...READ_OPTIONS, initial: BOOLEAN, signal: SIGNAL };

/**
 * Configuration of the application, from Redis, PostgreSQL, a file, or stores of your own.
 *
 * @example
 * ```ts
 * for await (const { key, value } of sidecar.configuration.watch('settings', ['log-level'], { initial: true })) {
 *   console.log(key, value);
 * }
 * ```
 * @public
 */
export class Configuration {
  readonly #service: ConfigurationService;

  /** @internal */
  constructor(service: ConfigurationService) {
    this.#service = service;
  }

  /**
   * Reads keys: those that exist, by their names.
   *
   * @param keys - default: all
   * @throws SidecarError `ERR_CONFIGURATION_STORE_NOT_FOUND`, `ERR_CONFIGURATION_STORE_NOT_CONFIGURED`;
   * `ERR_CONFIGURATION_GET` when the store fails.
   */
  async get(
    store: string,
    keys: readonly string[] = [],
    options: ConfigurationReadOptions = {},
  ): Promise<Readonly<Record<string, ConfigurationItem>>> {
    checkOptions('options of get', options, READ_OPTIONS, invalidArgument);
    return Object.fromEntries(await this.#service.get(store, requestOf(keys, options)));
  }

  /**
   * Yields the changes of keys, from the first call of `next` on, until the loop is left, the signal fires or the sidecar
   * stops. Changes of one key come in order; while the code is busy, several may come as the last one. After an outage of
   * the store, what has changed meanwhile comes.
   *
   * @param keys - default: all
   * @throws SidecarError as {@link Configuration.get} does, and `ERR_CONFIGURATION_SUBSCRIBE` when the store fails, or
   * for more than 1,000 subscriptions.
   */
  watch(
    store: string,
    keys: readonly string[] = [],
    options: ConfigurationWatchingOptions = {},
  ): AsyncGenerator<ConfigurationChange, void, undefined> {
    const queue = new ChangeQueue();
    const changes = this.#changesOf(queue, store, keys, options);
    const finish = changes.return.bind(changes);
    // A generator that waits for a change would return after that change only.
    changes.return = (value) => {
      queue.end();
      return finish(value);
    };
    return changes;
  }

  async *#changesOf(
    queue: ChangeQueue,
    store: string,
    keys: readonly string[],
    options: ConfigurationWatchingOptions,
  ): AsyncGenerator<ConfigurationChange, void, undefined> {
    checkOptions('options of watch', options, WATCH_OPTIONS, invalidArgument);
    const { initial = false, signal } = options;
    signal?.throwIfAborted();
    const onEnd = (): void => queue.end();
    // Before the store is asked: the signal may fire meanwhile.
    signal?.addEventListener('abort', onEnd, { once: true });
    let subscription: ConfigurationSubscription | undefined;
    try {
      subscription = await this.#service.watch(store, requestOf(keys, options), {
        tell: (key, item) => queue.offer(key, item),
        tellsPresent: initial,
      });
      subscription.onEnd(onEnd);
      for (let change = await queue.take(); change !== undefined; change = await queue.take())
        if (signal?.aborted !== true) yield { key: change.key, value: undefined, ...change.item };
      signal?.throwIfAborted();
    } finally {
      queue.end();
      signal?.removeEventListener('abort', onEnd);
      if (subscription !== undefined) await this.#service.end(subscription);
    }
  }
}

function requestOf(keys: readonly string[], { metadata = {} }: ConfigurationReadOptions): ConfigurationRequest {
  if (!isTexts(keys)) throw invalidArgument(`the keys are ${shown(keys)}: expected a list of texts`, 'keys');
  return { keys: [...new Set(keys)], metadata };
}
