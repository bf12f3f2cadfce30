import { messageOf } from '../../../errors.ts';
import type { Logger } from '../../../util/logger.ts';
import { clearInterval, setInterval } from '../../../util/timers.ts';
import type { ConfigurationWatch } from '../../configuration-store.ts';
import { OutageLog } from '../../outage-log.ts';
import { ConnectionLostError } from '../../remote/connection.ts';
import type { RedisServerSettings } from '../connection-options.ts';
import type { RedisClient } from '../driver.ts';
import { Endpoint } from '../pubsub/endpoint.ts';
import type { KeyRouter } from '../pubsub/key-router.ts';
import { addedFlags } from './event-flags.ts';

/** How often keys are read where the server sends no events. */
const POLL_MS = 1_000;
const SETTING = 'notify-keyspace-events';

/** Reports keys that may have changed; without keys, all. */
type Changed = (keys?: readonly string[]) => void;

interface Watcher {
  readonly channels: readonly string[];
  readonly changed: Changed;
}

/** The dependencies of {@link KeyEvents}. */
export interface KeyEventsDeps {
  readonly server: RedisServerSettings;
  readonly router: KeyRouter;
  readonly logger: Logger;
}

/** The keyspace events of a database, over a connection of their own, made with the first watch. */
export class KeyEvents {
  readonly #deps: KeyEventsDeps;
  readonly #prefix: string;
  readonly #watchers = new Set<Watcher>();
  /** The watchers of each channel. */
  readonly #channels = new Map<string, Set<Watcher>>();
  #endpoint: Endpoint | undefined;
  #polling: NodeJS.Timeout | undefined;
  #hasWarned = false;

  constructor(deps: KeyEventsDeps) {
    this.#deps = deps;
    this.#prefix = `__keyspace@${deps.server.target.database}__:`;
  }

  /** Resolves once no change is missed any more. */
  async watch(keys: readonly string[], changed: Changed): Promise<ConfigurationWatch> {
    const channels = keys.length === 0 ? [this.#allKeys] : keys.map((key) => this.#prefix + key);
    const watcher = { channels, changed };
    this.#add(watcher);
    try {
      const client = await this.#open().ready();
      await this.#turnOn();
      await Promise.all(channels.map((channel) => this.#subscribe(client, channel)));
    } catch (error) {
      this.#remove(watcher);
      throw error;
    }
    return { close: async () => this.#remove(watcher) };
  }

  get #allKeys(): string {
    return `${this.#prefix}*`;
  }

  #add(watcher: Watcher): void {
    this.#watchers.add(watcher);
    for (const channel of watcher.channels) {
      const watchers = this.#channels.get(channel) ?? new Set();
      watchers.add(watcher);
      this.#channels.set(channel, watchers);
    }
  }

  #remove(watcher: Watcher): void {
    if (!this.#watchers.delete(watcher)) return;
    const client = this.#endpoint?.client;
    for (const channel of watcher.channels) {
      const watchers = this.#channels.get(channel);
      watchers?.delete(watcher);
      if (watchers === undefined || watchers.size > 0) continue;
      this.#channels.delete(channel);
      if (client !== undefined) this.#unsubscribe(client, channel).catch(() => undefined);
    }
    if (this.#watchers.size === 0) this.#stopPolling();
  }

  #open(): Endpoint {
    const { server, router, logger } = this.#deps;
    this.#endpoint ??= new Endpoint({
      open: (signal) => router.openFor(0, signal),
      server: router.name,
      timeoutMs: server.callTimeoutMs,
      outages: new OutageLog(logger, router.name),
      random: Math.random,
      onConnected: (client) => void this.#resume(client),
    });
    return this.#endpoint;
  }

  /** Subscribes over a new connection. What has happened before went unseen. */
  async #resume(client: RedisClient): Promise<void> {
    const { size } = this.#channels;
    if (size === 0) return;
    try {
      await this.#turnOn();
      await Promise.all([...this.#channels.keys()].map((channel) => this.#subscribe(client, channel)));
    } catch (error) {
      this.#endpoint?.drop(client, error as Error);
      return;
    }
    for (const { changed } of this.#watchers) changed();
  }

  /** A second subscription of a connection to a channel adds nothing: the listener is the same. */
  #subscribe(client: RedisClient, channel: string): Promise<void> {
    return channel === this.#allKeys
      ? client.pSubscribe(channel, this.#onAnyEvent)
      : client.subscribe(channel, this.#onEvent);
  }

  #unsubscribe(client: RedisClient, channel: string): Promise<void> {
    return channel === this.#allKeys ? client.pUnsubscribe(channel) : client.unsubscribe(channel);
  }

  readonly #onEvent = (_event: string, channel: string): void => this.#tell(channel, channel);

  readonly #onAnyEvent = (_event: string, channel: string): void => this.#tell(this.#allKeys, channel);

  #tell(subscribed: string, channel: string): void {
    const keys = [channel.slice(this.#prefix.length)];
    for (const { changed } of this.#channels.get(subscribed) ?? []) changed(keys);
  }

  /**
   * Has the server send events: adds what is missing to what others have set. Without permission, polls.
   *
   * @throws ConnectionLostError when the server did not answer.
   */
  async #turnOn(): Promise<void> {
    const { router } = this.#deps;
    try {
      // Not over the connection for events, which takes no other commands. It may come back later than that one.
      await router.ready(0);
      const [, found] = (await router.send(0, ['CONFIG', 'GET', SETTING])) as readonly (Buffer | undefined)[];
      const flags = String(found ?? '');
      const missing = addedFlags(flags);
      if (missing !== '') await router.send(0, ['CONFIG', 'SET', SETTING, flags + missing]);
      this.#stopPolling();
    } catch (error) {
      // The server has refused nothing: it is asked again over the next connection.
      if (error instanceof ConnectionLostError) throw error;
      if (this.#watchers.size === 0) return;
      this.#warn(messageOf(error));
      this.#polling ??= setInterval(() => {
        for (const { changed } of this.#watchers) changed();
      }, POLL_MS);
    }
  }

  #warn(reason: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { name: server } = this.#deps.router;
    const advice = `set ${SETTING} to Kg$xe at the server`;
    this.#deps.logger.warn(
      { server, reason },
      `the server does not let its ${SETTING} be seen to: configuration is read every second (${advice})`,
    );
  }

  #stopPolling(): void {
    clearInterval(this.#polling);
    this.#polling = undefined;
  }

  async close(): Promise<void> {
    this.#watchers.clear();
    this.#channels.clear();
    this.#stopPolling();
    await this.#endpoint?.close();
  }
}
