import { setImmediate, setTimeout } from '../../../util/timers.ts';
import { destroy } from '../dialer.ts';
import type { RedisClient } from '../driver.ts';
import { errorOf, isStale, movedTo } from '../failures.ts';
import { Endpoint, type EndpointDeps } from './endpoint.ts';
import type { RawEntry } from './entries.ts';
import type { KeyRouter } from './key-router.ts';

const BLOCK_MS = 1_000;
/** Where the user may not end a read early: new topics wait for it. */
const SHORT_BLOCK_MS = 100;
/** Before the next read after one that has failed. */
const PAUSE_MS = 50;

/** A stream whose new entries are awaited. */
export interface StreamWatcher {
  readonly topic: string;
  /** The number of entries that it can take. */
  readonly room: number;
  /** Takes what a read of at most `asked` entries has brought. The stream is not watched any more. */
  received(entries: readonly RawEntry[], asked: number): void;
  /** A read has failed; whether it has taken entries is not known. The stream is not watched any more. */
  readFailed(): void;
}

/** The dependencies of a {@link GroupReader}. */
export interface GroupReaderDeps extends Omit<EndpointDeps, 'open'> {
  readonly router: KeyRouter;
  readonly group: string;
  readonly consumer: string;
  readonly slot: number;
}

/**
 * Waits for new entries of all streams of a group that have no more entries at present, in one blocking read on one
 * connection. When the streams change, the read is ended early, by a command on another connection.
 */
export class GroupReader {
  readonly #deps: GroupReaderDeps;
  readonly #endpoint: Endpoint;
  readonly #watchers = new Map<string, StreamWatcher>();
  #clientId = '';
  #canInterrupt = true;
  #isRunning = false;
  /** The read under way. */
  #read: Promise<void> | undefined;
  /** Whether the read under way is not the one that is wanted. */
  #isOutdated = false;
  #isInterrupting = false;
  #closed = false;

  constructor(deps: GroupReaderDeps) {
    this.#deps = deps;
    this.#endpoint = new Endpoint({ ...deps, open: (signal) => this.#open(signal) });
  }

  async #open(signal: AbortSignal): Promise<RedisClient> {
    const client = await this.#deps.router.openFor(this.#deps.slot, signal);
    try {
      this.#clientId = String(await client.sendCommand(['CLIENT', 'ID']));
    } catch (error) {
      destroy(client);
      throw error;
    }
    return client;
  }

  isWatching(watcher: StreamWatcher): boolean {
    return this.#watchers.get(watcher.topic) === watcher;
  }

  watch(watcher: StreamWatcher): void {
    this.#watchers.set(watcher.topic, watcher);
    this.#changed();
    if (!this.#isRunning) void this.#run();
  }

  /** Resolves once no read can bring entries of the stream any more. */
  async unwatch(watcher: StreamWatcher): Promise<void> {
    if (this.isWatching(watcher)) this.#watchers.delete(watcher.topic);
    this.#changed();
    await this.#read;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // The streams that are added in the same turn are read together.
    await Promise.resolve();
    while (this.#watchers.size > 0 && !this.#closed) {
      try {
        const client = await this.#endpoint.ready();
        this.#read = this.#readOnce(client);
        await this.#read;
      } catch {
        // The endpoint has logged it.
      }
      this.#read = undefined;
    }
    this.#isRunning = false;
  }

  async #readOnce(client: RedisClient): Promise<void> {
    const watchers = new Map(this.#watchers);
    this.#isOutdated = false;
    if (watchers.size === 0) return;
    const count = Math.max(1, Math.min(...[...watchers.values()].map(({ room }) => room)));
    const block = this.#canInterrupt ? BLOCK_MS : SHORT_BLOCK_MS;
    const { group, consumer } = this.#deps;
    const names = [...watchers.keys()];
    const options = ['GROUP', group, consumer, 'COUNT', String(count), 'BLOCK', String(block)];
    try {
      const reply = await client.sendCommand(['XREADGROUP', ...options, 'STREAMS', ...names, ...names.map(() => '>')]);
      for (const [name, entries] of (reply ?? []) as readonly (readonly [Buffer, readonly RawEntry[]])[]) {
        const watcher = watchers.get(String(name));
        if (watcher !== undefined && this.isWatching(watcher)) this.#watchers.delete(watcher.topic);
        watcher?.received(entries, count);
      }
    } catch (error) {
      this.#failed(watchers, client, error);
      await pause(PAUSE_MS);
    }
  }

  /** Each stream finds out by itself what is wrong with it; the others are watched again. */
  #failed(watchers: ReadonlyMap<string, StreamWatcher>, client: RedisClient, error: unknown): void {
    const { router, slot, server } = this.#deps;
    const holder = movedTo(error);
    if (holder !== undefined) {
      router.moved(slot, holder);
      this.#endpoint.replace(client);
    } else if (isStale(error)) this.#endpoint.drop(client, errorOf(error, server));
    for (const watcher of watchers.values()) {
      if (this.isWatching(watcher)) this.#watchers.delete(watcher.topic);
      watcher.readFailed();
    }
  }

  #changed(): void {
    if (this.#read === undefined) return;
    this.#isOutdated = true;
    if (this.#isInterrupting || !this.#canInterrupt) return;
    this.#isInterrupting = true;
    // Once for all changes of a turn.
    setImmediate(() => void this.#interrupt());
  }

  async #interrupt(): Promise<void> {
    while (this.#isOutdated && this.#read !== undefined && !this.#closed) {
      const { router, slot } = this.#deps;
      try {
        await router.send(slot, ['CLIENT', 'UNBLOCK', this.#clientId]);
      } catch (error) {
        if (/NOPERM|unknown/i.test((error as Error).message)) this.#canInterrupt = false;
        break;
      }
      // The server may not have got the read yet; its answer may be on its way.
      await pause(1);
    }
    this.#isInterrupting = false;
  }

  close(): void {
    this.#closed = true;
    void this.#endpoint.close();
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
