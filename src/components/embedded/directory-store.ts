import { connect } from 'node:net';
import { keepLocalHosts, localHostsOf } from '../../cluster/local-hosts.ts';
import { StoreView } from '../../cluster/store-view.ts';
import { isStateError } from '../../state/errors.ts';
import type { Batch, Entry, KeyedEntry, KeyRange, Scan, StateContext, StateStore } from '../../state/store.ts';
import { MAX_TIMEOUT_MS } from '../../util/clock.ts';
import { clearInterval, setInterval } from '../../util/timers.ts';
import { openRemoteStore } from '../remote/remote-store.ts';
import { timeoutsOf } from '../remote/store-options.ts';
import { readDoor } from './directory.ts';
import { DirectoryServer } from './directory-server.ts';
import { socketOf } from './door.ts';
import { type DirectorySettings, openEmbeddedStore, openThread } from './embedded-store.ts';
import { ThreadLink } from './thread-link.ts';

/** How long to wait for the lock: whoever has it can be joined instead. */
const BUSY_TIMEOUT_MS = 50;
const SHAREABLE = { isShareable: true, busyTimeoutMs: BUSY_TIMEOUT_MS };

/** Opens the store of a directory (absolute), or joins the process that holds it. */
export async function openDirectoryStore(
  path: string,
  context: StateContext,
  settings: DirectorySettings = {},
): Promise<StateStore> {
  const opened = (await isHeld(path)) ? undefined : await tryToOpen(path, context, settings);
  return opened ?? JoinedStore.open(path, context, settings);
}

/** Whether a process listens on the socket of the directory. One that was killed has left it behind. */
function isHeld(path: string): Promise<boolean> {
  const door = readDoor(path);
  if (door === undefined) return Promise.resolve(false);
  const socket = connect(socketOf(path, door));
  return new Promise((resolve) => {
    const answer = (isConnected: boolean): void => {
      socket.destroy();
      resolve(isConnected);
    };
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}

/** Opens the directory; resolves with nothing if another process has it open. */
async function tryToOpen(
  path: string,
  context: StateContext,
  settings: DirectorySettings,
): Promise<StateStore | undefined> {
  try {
    return await openEmbeddedStore(path, context, { ...settings, ...SHAREABLE });
  } catch (error) {
    if (isStateError(error) && error.kind === 'in-use') return undefined;
    throw error;
  }
}

/** The store of a directory that another process held when it was opened. This one may hold it later. */
class JoinedStore extends StoreView {
  readonly #store: StateStore;
  readonly #server: DirectoryServer;
  /** Keeps the process alive while calls are under way: sockets and threads do not. */
  readonly #alive = setInterval(() => undefined, MAX_TIMEOUT_MS).unref();
  #underWay = 0;
  #closing: Promise<void> | undefined;

  private constructor(store: StateStore, server: DirectoryServer) {
    super(store);
    this.#store = store;
    this.#server = server;
    keepLocalHosts(this, localHostsOf(store));
  }

  static async open(path: string, context: StateContext, settings: DirectorySettings): Promise<JoinedStore> {
    const { logger } = context;
    let store: JoinedStore | undefined;
    const server = new DirectoryServer({
      ...{ path, logger, ...settings },
      takeOver: async () =>
        new ThreadLink(await openThread({ path, ...settings, ...SHAREABLE }), {
          onSharing: () => store !== undefined && localHostsOf(store).sharingChanged(),
          onNotice: (text) => logger.warn({}, text),
          ...settings,
        }),
    });
    try {
      const options = { ...timeoutsOf({}), random: Math.random, onCall: undefined };
      store = new JoinedStore(await openRemoteStore(server, context, options), server);
      return store;
    } catch (error) {
      await server.close();
      throw error;
    }
  }

  /** Alone, it is like a store that was opened for this process only. */
  override get isExclusive(): boolean {
    return this.#server.isAlone;
  }

  override get(key: string): Promise<Entry | undefined> {
    return this.#kept(super.get(key));
  }

  override getAll(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    return this.#kept(super.getAll(keys));
  }

  override scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    return this.#kept(super.scan(scan));
  }

  override count(range: KeyRange, limit: number): Promise<number> {
    return this.#kept(super.count(range, limit));
  }

  override commit(batch: Batch): Promise<number> {
    return this.#kept(super.commit(batch));
  }

  #kept<T>(call: Promise<T>): Promise<T> {
    if (this.#underWay++ === 0) this.#alive.ref();
    const ended = (): void => {
      if (--this.#underWay === 0) this.#alive.unref();
    };
    call.then(ended, ended);
    return call;
  }

  override close(): Promise<void> {
    this.#closing ??= this.#kept(this.#close());
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#store.close();
    await this.#server.close();
    clearInterval(this.#alive);
  }
}
