import { resolve } from 'node:path';
import type { AnyStoreDefinition } from '../components/any-component.ts';
import { embeddedState } from '../components/embedded/index.ts';
import { keyValueStore } from '../components/key-value/index.ts';
import type { EncryptionKey, KeyValueDefinition, StateStoreOptions } from '../components/key-value.ts';
import { KEY_SEPARATOR } from '../components/key-value-options.ts';
import type { StateDefinition } from '../state/store.ts';
import { MetadataReader, type MetadataSource } from './metadata-reader.ts';
import type { Resource } from './resource.ts';
import type { ComponentSpec } from './schema/component.ts';
import type { StoreSource } from './store-source.ts';

/** The metadata of every state store. */
export const STATE_STORE_NAMES = [
  'actorStateStore',
  'keyPrefix',
  'primaryEncryptionKey',
  'secondaryEncryptionKey',
  'outboxPublishPubsub',
  'outboxPublishTopic',
  'outboxPubsub',
  'outboxDiscardWhenMissingState',
] as const;

const HEX_KEY = /^(?:[0-9a-f]{32}|[0-9a-f]{48}|[0-9a-f]{64})$/i;

/** The state that files request. */
export interface StateWish {
  readonly definition: StateDefinition;
  /** Its absolute directory, if it is on disk. */
  readonly path?: string;
  /** Whether one process has that for itself. */
  readonly isExclusive?: boolean;
}

/** The state of a sidecar by its own files. Several sidecars with one state may have to agree on another one. */
export interface OwnState extends StateWish {
  /** Whether the files say that it is to be there. */
  readonly isMarked: boolean;
  /** Whether a component keeps something there that must be durable. */
  readonly needsDisk: boolean;
}

/** A `state.*` component: a store of the state API, and maybe the sidecar's own state. */
export interface StateComponent {
  readonly resource: Resource;
  readonly type: string;
  readonly version: string;
  readonly options: StateStoreOptions;
  /** The sidecar's own state, if it is chosen for that. */
  readonly wish: StateWish;
  /** Whether the files say that it is the sidecar's own state. */
  readonly isPreferred: boolean;
  /** The store in a form that other programs know. Absent: it is kept on a store of the sidecar's own kind. */
  readonly definition: KeyValueDefinition | undefined;
}

/** State in a directory. */
export function stateOnDisk(directory: string, isExclusive = false): StateWish {
  const path = resolve(directory);
  return { definition: embeddedState({ path, exclusive: isExclusive }), path, isExclusive };
}

/** Reads where the state of a `state.sqlite` is, by default in `otherwise`, and who may have it open. */
export function readDirectoryState(source: StoreSource, otherwise: string): StateWish {
  const reader = new MetadataReader(source);
  const [path, exclusive] = [reader.text('path'), reader.choice('exclusive', ['true', 'false'])];
  return stateOnDisk(path === undefined ? otherwise : resolve(source.workingDirectory, path), exclusive === 'true');
}

/** The definition of a store for the state API; `engine` is the sidecar's own state. */
export function stateStore(component: StateComponent, engine: StateWish | undefined): AnyStoreDefinition {
  const { resource, type, version, definition, options, wish } = component;
  const isOwnState = engine?.definition === wish.definition;
  if (definition !== undefined) return isOwnState ? { ...definition, isOwnState } : definition;
  const { name } = resource;
  const of = (place: { readonly store?: StateDefinition }): KeyValueDefinition => ({
    ...keyValueStore(name, { ...options, ...place }),
    ...{ type, version, isOwnState },
  });
  const made = of(placeOf(component, engine));
  return wish.definition.type === 'memory' ? { ...made, onState: () => of({}) } : made;
}

/** The place of the values: the sidecar's own state if that is in the same place. A store in memory is always on its own. */
function placeOf({ wish }: StateComponent, engine: StateWish | undefined): { readonly store?: StateDefinition } {
  if (wish.definition.type === 'memory') return { store: wish.definition };
  const isOwn = engine?.definition === wish.definition || (wish.path !== undefined && wish.path === engine?.path);
  if (isOwn) return {};
  return { store: wish.definition };
}

/** Reads the options of the state API for a store of any type. */
export function readStateOptions(resource: Resource, source: MetadataSource): StateStoreOptions {
  const reader = new MetadataReader(source);
  const keyPrefix = reader.text('keyPrefix');
  if (keyPrefix?.includes(KEY_SEPARATOR) === true)
    reader.problem(`metadata keyPrefix must be a word without ${KEY_SEPARATOR}`);
  const ttl = reader.values.has('ttlInSeconds') ? readTtl(reader) : undefined;
  const primary = encryptionKey(resource, 'primaryEncryptionKey', reader);
  const secondary = encryptionKey(resource, 'secondaryEncryptionKey', reader);
  if (secondary !== undefined && primary === undefined)
    reader.problem('metadata secondaryEncryptionKey needs primaryEncryptionKey');
  const outbox = reader.pair('outboxPublishPubsub', 'outboxPublishTopic');
  if (reader.hasProblem) return {};
  return {
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
    ...(ttl === undefined ? {} : { defaultTtl: ttl * 1_000 }),
    ...(primary === undefined ? {} : { primaryEncryptionKey: primary }),
    ...(secondary === undefined ? {} : { secondaryEncryptionKey: secondary }),
    ...(outbox === undefined ? {} : { outbox: { pubsubName: outbox[0], topic: outbox[1] } }),
  };
}

/** 0 and -1 mean no TTL, as in requests. */
function readTtl(reader: MetadataReader): number | undefined {
  if (reader.text('ttlInSeconds') === '-1') return undefined;
  return reader.number('ttlInSeconds', { max: 2 ** 31 - 1 });
}

/** A key has the name of its secret. One that is written in the file is refused: it would not be secret. */
function encryptionKey(resource: Resource, name: string, reader: MetadataReader): EncryptionKey | undefined {
  const key = reader.values.get(name);
  if (key === undefined) return undefined;
  // The cast is safe: the schema of the kind was checked.
  const { metadata = [] } = resource.spec as ComponentSpec;
  const written = metadata.find((entry) => entry.name.toLowerCase() === name.toLowerCase());
  const secret = written?.secretKeyRef?.name;
  if (secret === undefined || secret === '') reader.problem(`metadata ${name} must be a secretKeyRef`);
  else if (!HEX_KEY.test(key)) reader.problem(`metadata ${name} must be a key of 16, 24 or 32 bytes in hexadecimal`);
  else return { name: secret, key };
  return undefined;
}
