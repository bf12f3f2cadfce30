import type { Entry, KeyedEntry, KeyRange, Scan } from '../../state/store.ts';
import { type ClosedSession, type CommitGroup, type RemoteConnection, refusalsOf } from '../remote/connection.ts';
import type { FoundDurability } from '../remote/durability.ts';
import type { PendingGroup } from '../remote/pending-group.ts';
import { destroy } from './dialer.ts';
import type { RedisArgument, RedisClient } from './driver.ts';
import { errorOf } from './failures.ts';
import { packStrings } from './message-pack.ts';
import { CLOSE_SESSION, COMMIT, COUNT, GET, OPEN_SESSION, SCAN, type Script } from './scripts.ts';

/** The dependencies of a {@link RedisConnection}. */
export interface RedisConnectionDeps {
  readonly client: RedisClient;
  readonly serverId: string;
  /** For messages. */
  readonly server: string;
  /** The keys passed to the scripts. */
  readonly keys: readonly string[];
  readonly channel: string;
  /** Whether messages use a sharded channel, which belongs to a node of a cluster. */
  readonly isSharded: boolean;
  readonly durability: FoundDurability;
}

/** One connection to Redis: every call is a script. */
export class RedisConnection implements RemoteConnection {
  readonly #deps: RedisConnectionDeps;
  /** Whether the server has run the script of commits, and has not forgotten its scripts since, as far as is known. */
  #hasScript = false;

  constructor(deps: RedisConnectionDeps) {
    this.#deps = deps;
  }

  get serverId(): string {
    return this.#deps.serverId;
  }

  get durability(): FoundDurability {
    return this.#deps.durability;
  }

  async #run({ text, sha1 }: Script, args: readonly RedisArgument[]): Promise<unknown> {
    const { client, server, keys } = this.#deps;
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await client.sendCommand(['EVALSHA', sha1, ...rest]).catch((error: Error) => {
        if (!error.message.startsWith('NOSCRIPT')) throw error;
        this.#hasScript = false;
        return client.sendCommand(['EVAL', text, ...rest]);
      });
    } catch (error) {
      throw errorOf(error, server);
    }
  }

  async get(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    const found = (await this.#run(GET, keys)) as readonly (Buffer | null)[];
    return keys.map((_key, index) => {
      const [version, value] = [found[2 * index], found[2 * index + 1]];
      return version && value ? { version: Number(version), value: new Uint8Array(value) } : undefined;
    });
  }

  async scan({ from, to, limit = -1, maxBytes = -1, reverse = false }: Scan): Promise<readonly KeyedEntry[]> {
    const found = (await this.#run(SCAN, [
      ...boundsOf({ from, to }),
      reverse ? '1' : '0',
      String(limit),
      String(maxBytes),
    ])) as Buffer[];
    const entries: KeyedEntry[] = [];
    for (let at = 0; at < found.length; at += 3) {
      const [key, version, value] = found.slice(at, at + 3) as [Buffer, Buffer, Buffer];
      entries.push({ key: key.toString(), version: Number(version), value: new Uint8Array(value) });
    }
    return entries;
  }

  /** The server knows the ranks of keys, so that it counts any range at once. */
  async count(range: KeyRange, limit: number): Promise<number> {
    return Math.min(limit, Number(await this.#run(COUNT, boundsOf(range))));
  }

  async openSession(): Promise<number> {
    return Number(await this.#run(OPEN_SESSION, []));
  }

  async closeSession(session: number): Promise<ClosedSession> {
    const [group, refused] = (await this.#run(CLOSE_SESSION, [String(session)])) as readonly [Buffer, Buffer];
    const numbers = refused.length === 0 ? [] : refused.toString().split(',').map(Number);
    return { group: Number(group), refusals: refusalsOf(numbers) };
  }

  async commit(pending: PendingGroup): Promise<readonly string[]> {
    const failed = this.#run(COMMIT, argumentsOf(pending));
    // The first time, the server may have to be sent the script again, and the message must not overtake it.
    if (!this.#hasScript) await failed;
    this.#hasScript = true;
    this.#tell(pending.group);
    const keys = (await failed) as readonly Buffer[];
    // The server had forgotten its scripts, so the message has overtaken the commit.
    if (!this.#hasScript) this.#tell(pending.group);
    return keys.map(String);
  }

  #tell({ message }: CommitGroup): void {
    if (message !== undefined) this.notify([message]).catch(() => undefined);
  }

  async notify(messages: readonly string[]): Promise<void> {
    const { client, server, channel, isSharded } = this.#deps;
    const send = (message: string): Promise<unknown> =>
      client.sendCommand([isSharded ? 'SPUBLISH' : 'PUBLISH', channel, message]);
    try {
      await Promise.all(messages.map(send));
    } catch (error) {
      throw errorOf(error, server);
    }
  }

  destroy(): void {
    destroy(this.#deps.client);
  }
}

function boundsOf({ from, to }: Pick<KeyRange, 'from'> & { readonly to?: string | undefined }): readonly string[] {
  return [from === '' ? '-' : `[${from}`, to === undefined ? '+' : `(${to}`];
}

/** The arguments of {@link COMMIT} for the batches that are left. */
function argumentsOf(pending: PendingGroup): readonly RedisArgument[] {
  const { session, number, firstVersion } = pending.group;
  const { required } = pending;
  const wanted = [...required.values()].map((version) => (version === 'absent' ? '' : String(version)));
  const [scores, versions, values, deletes]: [string[], string[], (string | Uint8Array)[], string[]] = [[], [], [], []];
  pending.eachLeft(({ put = [], delete: deleted = [] }, index) => {
    const version = String(firstVersion + index);
    for (const { key, value } of put) {
      scores.push('0', key);
      versions.push(key, version);
      values.push(key, value);
    }
    for (const key of deleted) deletes.push(key);
  });
  return [
    ...[String(session), String(number), pending.refusedNumbers.join()],
    ...[required.size, scores.length / 2, deletes.length].map(String),
    packStrings([...required.keys(), ...wanted, ...scores, ...versions, ...values, ...deletes]),
  ];
}
