import type { AnyStoreDefinition } from '../components/any-component.ts';
import type { StateStoreOptions } from '../components/key-value.ts';
import type { MetadataSource } from './metadata-reader.ts';

/** The parts of a resource file from which a store is made. */
export interface StoreSource extends MetadataSource {
  /** The name of the component. */
  readonly name: string;
  /** The type, such as `state.redis`, and its version. */
  readonly type: string;
  readonly version: string;
  /** The base of relative paths. */
  readonly workingDirectory: string;
  /** The options of the state API, for a state store. */
  readonly options: StateStoreOptions;
}

/** Makes a store; `undefined` if there is a problem, or if this type is kept on a store of the sidecar's own kind. */
export type MakeStore = (source: StoreSource) => AnyStoreDefinition | undefined;
