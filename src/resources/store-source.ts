import type { AnyStoreDefinition } from '../components/any-component.ts';
import type { StateStoreOptions } from '../components/key-value.ts';
import type { MetadataSource } from './metadata-reader.ts';

/** What a store of a building block is made of. */
export interface StoreSource extends MetadataSource {
  /** The name of the component. */
  readonly name: string;
  /** The type, such as `state.redis`, and its version. */
  readonly type: string;
  readonly version: string;
  /** The base of relative paths. */
  readonly workingDirectory: string;
  /** What the state API does with it, if it is a state store. */
  readonly options: StateStoreOptions;
}

/** Makes a store; `undefined` if there is a problem, or if this type is kept on a store of the sidecar's own kind. */
export type MakeStore = (source: StoreSource) => AnyStoreDefinition | undefined;
