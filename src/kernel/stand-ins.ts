import type { ShardHosts } from '../cluster/shards.ts';
import type { Damages } from '../state/damages.ts';
import { ConflictError, isConflictError } from '../state/errors.ts';
import type { KeyedEntry, KeyRange, Precondition, Put, StateStore } from '../state/store.ts';
import { readValue, withFormat } from '../state/values.ts';
import type { Change } from './commit-batcher.ts';
import type { OwnedShards } from './owned-shards.ts';

/** Work that the owner of its shard cannot do. */
export interface StandIn<Need> {
  /** The code that it lacks. */
  readonly needs: readonly Need[];
  /** The host that does the work in its place; `undefined` while none has taken it. */
  readonly hostId: string | undefined;
  /** Whether the work is done: its owner has yet to take what came of it. */
  readonly isDone: boolean;
  readonly version: number;
}

/** The dependencies of {@link StandIns}. */
export interface StandInsDeps<Need> {
  /** Which items this host has, as the owner of their shards or of what they belong to. */
  readonly owned: OwnedItems;
  /** `undefined` if this host has the store for itself. */
  readonly hosts: ShardHosts | undefined;
  readonly store: Pick<StateStore, 'get' | 'scan'>;
  /** Writes a change in one commit with others; returns the version. */
  readonly write: (change: Change) => Promise<number>;
  readonly range: Required<KeyRange>;
  readonly keyOf: (id: string) => string;
  readonly idOf: (key: string) => string;
  readonly damages: Damages;
  /** What an item needs that its host has left undone. Default: what it needed before. */
  renewed?(needs: readonly Need[]): readonly Need[];
  /** The keys beside its own that go with an item. Default: no other. */
  readonly besides?: (id: string) => readonly string[];
  /** An item of work has changed: another host may do it now, or this one. */
  readonly onChange: (id: string) => void;
}

/** Who has items of work, of themselves. */
export type OwnedItems = Pick<OwnedShards, 'owns' | 'fence' | 'isFenced' | 'isShared' | 'hasPeers'>;

/** What the commit of an offer requires and writes beside it. */
export interface OfferOptions {
  readonly require?: readonly Precondition[];
  readonly put?: readonly Put[];
}

const FORMAT = 1;

/**
 * Hosts that do single items of work in place of the owner of their shard. An owner that lacks the code for one offers
 * it: it writes what it lacks. A host that has that takes it, and does the work until it is done or the host is gone;
 * then the owner offers it again. So hosts that all lack the code leave it where it is.
 *
 * The commits of a stand-in require its entry in place of the fence of the shard: nothing that it does counts once
 * another host has the work. The owner of the shard may still end what is offered, with the same precondition.
 */
export class StandIns<Need> {
  readonly #deps: StandInsDeps<Need>;
  readonly #known = new Map<string, StandIn<Need>>();
  /** How many changes of this host have been written: a read that began before may not know of them. */
  #writes = 0;

  constructor(deps: StandInsDeps<Need>) {
    this.#deps = deps;
  }

  of(id: string): StandIn<Need> | undefined {
    return this.#known.get(id);
  }

  /** Whether no host does the work: its owner lacks something. */
  isOffered(id: string): boolean {
    const standIn = this.#known.get(id);
    return standIn !== undefined && standIn.hostId === undefined && !standIn.isDone;
  }

  /** Whether this host does the work of an item in place of its owner. */
  isHere(id: string): boolean {
    const { hosts } = this.#deps;
    const hostId = this.#known.get(id)?.hostId;
    return hostId !== undefined && hostId === hosts?.id && hosts.isLive(hostId);
  }

  /** Whether an item is one of this host: as its stand-in, or as the owner of its shard. */
  owns(id: string): boolean {
    if (this.#known.size === 0 || this.#known.get(id)?.hostId === undefined) return this.#deps.owned.owns(id);
    return this.isHere(id);
  }

  /**
   * The precondition of its commits.
   *
   * @throws ConflictError when this host does not own the shard, or another one does the work.
   */
  fence(id: string): Precondition | undefined {
    const standIn = this.#known.get(id);
    if (standIn === undefined || standIn.isDone) return this.#deps.owned.fence(id);
    const precondition = this.#asRead(id, standIn);
    if (standIn.hostId !== undefined && standIn.hostId !== this.#deps.hosts?.id)
      throw new ConflictError(precondition.key);
    return precondition;
  }

  /** Whether an error says that another host has the work now. */
  isFenced(error: unknown): boolean {
    if (this.#deps.owned.isFenced(error)) return true;
    if (!isConflictError(error) || !error.key.startsWith(this.#deps.range.from)) return false;
    void this.changed([error.key]).catch(() => undefined);
    return true;
  }

  #asRead(id: string, { version }: StandIn<Need>): Precondition {
    return { key: this.#deps.keyOf(id), version };
  }

  /** Reads what others have written: the given keys, or everything without keys. */
  changed(keys: readonly string[] = []): Promise<void> {
    const { range, idOf } = this.#deps;
    return keys.length === 0
      ? this.read(range, () => [...this.#known.keys()])
      : this.#readAs(
          () => this.#get(keys),
          () => keys.map(idOf),
        );
  }

  /** Reads what is written in a range: `idsOf` says which of the known items are in it. */
  read(range: Required<KeyRange>, idsOf: () => readonly string[]): Promise<void> {
    return this.#readAs(() => this.#deps.store.scan(range), idsOf);
  }

  async #readAs(read: () => Promise<readonly KeyedEntry[]>, idsOf: () => readonly string[]): Promise<void> {
    const { idOf, damages } = this.#deps;
    for (;;) {
      const writes = this.#writes;
      const entries = await read();
      if (writes !== this.#writes) continue;
      const found = new Map<string, StandIn<Need>>();
      for (const entry of entries) {
        // One that cannot be read must not hold up the others: its owner does the work.
        const standIn = damages.read(entry, () => decode<Need>(entry));
        if (standIn !== undefined) found.set(idOf(entry.key), standIn);
      }
      for (const id of idsOf()) if (!found.has(id)) this.#forget(id);
      for (const [id, standIn] of found) this.#note(id, standIn);
      return;
    }
  }

  async #get(keys: readonly string[]): Promise<readonly KeyedEntry[]> {
    const found = await Promise.all(keys.map(async (key) => ({ key, entry: await this.#deps.store.get(key) })));
    return found.flatMap(({ key, entry }) => (entry === undefined ? [] : [{ ...entry, key }]));
  }

  /** Whether any is known. */
  get hasAny(): boolean {
    return this.#known.size > 0;
  }

  /** All that is known. */
  all(): readonly (readonly [id: string, StandIn<Need>])[] {
    return [...this.#known];
  }

  /** What living hosts have taken. */
  needsOfTaken(): readonly Need[] {
    const { hosts } = this.#deps;
    const isTaken = ({ hostId }: StandIn<Need>): boolean => hostId !== undefined && hosts?.isLive(hostId) === true;
    return [...this.#known.values()].flatMap((standIn) => (isTaken(standIn) ? standIn.needs : []));
  }

  #note(id: string, standIn: StandIn<Need>): void {
    if (this.#known.get(id)?.version === standIn.version) return;
    this.#known.set(id, standIn);
    this.#deps.onChange(id);
  }

  #forget(id: string): void {
    if (this.#known.delete(id)) this.#deps.onChange(id);
  }

  /** The host that has an item lacks something that it needs. Not written if one of `require` does not hold. */
  async offer(id: string, needs: readonly Need[], { require = [], put = [] }: OfferOptions = {}): Promise<void> {
    const { keyOf, owned } = this.#deps;
    const version = this.#known.get(id)?.version ?? ('absent' as const);
    const fence = this.isHere(id) ? undefined : owned.fence(id);
    await this.#write(id, { needs }, { require: [{ key: keyOf(id), version }, ...require], put, fence });
  }

  /** This host does what is offered; answers whether no other host was faster. */
  async take(id: string): Promise<boolean> {
    const standIn = this.#known.get(id);
    const { hosts } = this.#deps;
    if (standIn === undefined || !this.isOffered(id) || hosts === undefined) return false;
    return this.#write(id, { needs: standIn.needs, hostId: hosts.id }, { require: [this.#asRead(id, standIn)] });
  }

  /** The stand-in of an item of this host’s shards is gone: another one may take it. */
  async renew(id: string): Promise<void> {
    const standIn = this.#known.get(id);
    const { hosts, owned } = this.#deps;
    if (standIn?.hostId === undefined || hosts === undefined || hosts.isLive(standIn.hostId) || !owned.owns(id)) return;
    const require = [this.#asRead(id, standIn), hosts.whenGone(standIn.hostId)];
    const needs = this.#deps.renewed?.(standIn.needs) ?? standIn.needs;
    await this.#write(id, { needs }, { require, fence: owned.fence(id) });
  }

  /**
   * This host has done what it took: writes what came of it, for the owner, in the same commit. Answers the version,
   * unless the item is not with this host any more.
   */
  async finish(id: string, put: readonly Put[]): Promise<number | undefined> {
    const standIn = this.#known.get(id);
    if (standIn === undefined || standIn.isDone || standIn.hostId !== this.#deps.hosts?.id) return undefined;
    const content = { needs: standIn.needs, isDone: true };
    const isWritten = await this.#write(id, content, { require: [this.#asRead(id, standIn)], put });
    return isWritten ? this.#known.get(id)?.version : undefined;
  }

  /** The work is done, or needs no stand-in. */
  async end(id: string): Promise<void> {
    const standIn = this.#known.get(id);
    if (standIn === undefined) return;
    await this.#write(id, undefined, { require: [this.#asRead(id, standIn)] });
  }

  /** The keys to delete with an item that ends, in a commit with its {@link StandIns.fence}. */
  keysOf(id: string): readonly string[] {
    return this.#known.has(id) ? this.#keysOf(id) : [];
  }

  #keysOf(id: string): readonly string[] {
    const { keyOf, besides } = this.#deps;
    return [keyOf(id), ...(besides?.(id) ?? [])];
  }

  /** What {@link StandIns.keysOf} names has been deleted. */
  ended(id: string): void {
    this.#writes++;
    this.#forget(id);
  }

  /** Answers whether the entry was as it was known; what it is instead is read. */
  async #write(
    id: string,
    content: Content<Need> | undefined,
    { require, put = [], fence }: Written,
  ): Promise<boolean> {
    const { write, keyOf, owned } = this.#deps;
    const key = keyOf(id);
    const value = withFormat(FORMAT, Buffer.from(JSON.stringify(content ?? null)));
    const change =
      content === undefined ? { put: [], delete: this.#keysOf(id) } : { put: [{ key, value }, ...put], delete: [] };
    try {
      const version = await write({ require, ...change, fence });
      this.#writes++;
      if (content === undefined) this.#forget(id);
      else this.#note(id, standInOf(content, version));
      return true;
    } catch (error) {
      if (!isConflictError(error)) throw error;
      owned.isFenced(error);
      await this.changed([key]);
      return false;
    }
  }
}

/** What goes with the write of an entry. */
interface Written extends OfferOptions {
  readonly require: readonly Precondition[];
  readonly fence?: Precondition | undefined;
}

/** The stored entry. */
type Content<Need> = Pick<StandIn<Need>, 'needs'> & Partial<StandIn<Need>>;

function standInOf<Need>({ needs, hostId, isDone = false }: Content<Need>, version: number): StandIn<Need> {
  return { needs, hostId, isDone, version };
}

function decode<Need>({ key, value, version }: KeyedEntry): StandIn<Need> {
  const content = readValue(key, value, {
    [FORMAT]: (payload) => JSON.parse(Buffer.from(payload).toString()) as unknown,
  });
  return standInOf(content as Content<Need>, version);
}
