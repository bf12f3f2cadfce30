import { isStateError } from '../state/errors.ts';
import { keyOf, namePart, partsOf, rangeOf } from '../state/keys.ts';
import type { KeyedEntry, KeyRange, StateStore } from '../state/store.ts';
import { readValue, withFormat } from '../state/values.ts';

/*
 * The keys by which the hosts of a store know each other:
 *
 * - `hosts / host / <host ID>`: the record of a running sidecar
 * - `hosts / table`: how often the table of hosts with actor types has changed
 * - `shards / <app ID> / <shard>`: the ID of the host that owns it; without an entry no host does
 */

/** A running sidecar. */
export interface HostRecord {
  /** A new ID for every start. */
  readonly id: string;
  readonly appId: string;
  readonly namespace: string;
  /** The URL at which other sidecars reach it; absent if it has none. */
  readonly address: string | undefined;
  readonly actorTypes: readonly string[];
  /** When it was registered, or when its actor types changed. */
  readonly updatedAt: number;
  /** Whether it stops: it gets no shards any more, and gives its own away. Earlier releases do not know of this. */
  readonly isLeaving?: boolean;
}

/** A stored record. */
export interface StoredHost extends HostRecord {
  readonly key: string;
  readonly version: number;
}

/** The hosts of a store at one moment. */
export interface HostTable {
  readonly hosts: readonly StoredHost[];
  /** How often hosts with actor types were added, removed or changed. */
  readonly tableVersion: number;
  /** The version of the entry that holds this count. */
  readonly tableEntryVersion: number | 'absent';
}

const ROOT = 'hosts';
const SHARDS = 'shards';
const FORMAT = 1;
const TABLE_KEY = keyOf(ROOT, 'table');

/** Prefix of all host records. */
export const HOSTS_PREFIX: string = keyOf(ROOT, 'host');

export function hostKey(id: string): string {
  return keyOf(ROOT, 'host', id);
}

/** The host ID in a record's key. */
export function hostIdOf(key: string): string {
  return partsOf(key).at(-1) ?? '';
}

export function encodeHost(host: HostRecord): { key: string; value: Uint8Array } {
  return { key: hostKey(host.id), value: json(host) };
}

export function encodeTableVersion(version: number): { key: string; value: Uint8Array } {
  return { key: TABLE_KEY, value: json(version) };
}

/** The precondition for incrementing the table's version. */
export function tableUnchanged({ tableEntryVersion: version }: HostTable): {
  key: string;
  version: number | 'absent';
} {
  return { key: TABLE_KEY, version };
}

function json(content: unknown): Uint8Array {
  return withFormat(FORMAT, Buffer.from(JSON.stringify(content)));
}

function parse(key: string, value: Uint8Array): unknown {
  return readValue(key, value, { [FORMAT]: (payload) => JSON.parse(Buffer.from(payload).toString()) as unknown });
}

/** Reads all hosts, dead ones included. */
export async function readHosts(store: StateStore): Promise<HostTable> {
  const hosts: StoredHost[] = [];
  let tableVersion = 0;
  let tableEntryVersion: number | 'absent' = 'absent';
  // One scan for both, so that they come from the same state of the store.
  for (const { key, value, version } of await store.scan(rangeOf(ROOT))) {
    if (key === TABLE_KEY) {
      tableVersion = parse(key, value) as number;
      tableEntryVersion = version;
    } else {
      const record = parse(key, value) as Omit<HostRecord, 'address'> & { readonly address?: string };
      hosts.push({ ...record, address: record.address, key, version });
    }
  }
  return { hosts, tableVersion, tableEntryVersion };
}

/** The shards of all app IDs that each host owns, by its ID. */
export async function readShards(store: StateStore): Promise<ReadonlyMap<string, readonly number[]>> {
  const shards = new Map<string, number[]>();
  for (const entry of await store.scan(rangeOf(SHARDS))) {
    const { shard, owner } = shardOwnerOf(entry);
    const owned = shards.get(owner);
    if (owned === undefined) shards.set(owner, [shard]);
    else owned.push(shard);
  }
  return shards;
}

function shardOwnerOf({ key, value }: KeyedEntry): { readonly shard: number; readonly owner: string } {
  const owner = readValue(key, value, { [FORMAT]: (payload) => Buffer.from(payload).toString() });
  return { shard: Number(partsOf(key).at(-1)), owner };
}

/**
 * Reads what the hosts of an app ID have written, so that a sidecar does not start where it could do nothing.
 *
 * @throws StateError `newer-format` if a later release wrote it.
 */
export async function refuseNewerHosts(store: StateStore, appId: string): Promise<void> {
  const layout = new ShardLayout(appId);
  try {
    const [, owners] = await Promise.all([readHosts(store), store.scan(layout.range)]);
    for (const owner of owners) layout.ownerOf(owner);
  } catch (error) {
    // A store that does not work is not waited for here.
    if (isStateError(error) && error.kind === 'newer-format') throw error;
  }
}

/** Whether there is no other host. */
export function isOnly({ hosts }: HostTable, hostId: string): boolean {
  return hosts.every(({ id }) => id === hostId);
}

/** Keys and entries of the shards of an app ID. */
export class ShardLayout {
  readonly prefix: string;
  readonly range: KeyRange;

  constructor(appId: string) {
    const part = namePart(appId);
    this.prefix = keyOf(SHARDS, part);
    this.range = rangeOf(SHARDS, part);
  }

  key(shard: number): string {
    return this.prefix + keyOf(String(shard).padStart(2, '0'));
  }

  put(shard: number, hostId: string): { key: string; value: Uint8Array } {
    return { key: this.key(shard), value: withFormat(FORMAT, Buffer.from(hostId)) };
  }

  ownerOf(entry: KeyedEntry): { readonly shard: number; readonly owner: string } {
    return shardOwnerOf(entry);
  }
}
