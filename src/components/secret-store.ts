import type { ComponentContext, OpenStore, StoreDefinition } from './component.ts';

/**
 * The values of one secret by their keys. A store with one value for each secret has it under the secret's own name.
 *
 * @public
 */
export type SecretValues = Readonly<Record<string, string>>;

/**
 * A source of secrets: the component behind the secrets API. It knows nothing of scopes: the building block decides
 * which secrets an application may read, before it asks the store.
 *
 * Errors may be logged and shown to the application: their messages must contain no value of a secret.
 *
 * @public
 */
export interface SecretStore extends OpenStore {
  /**
   * Reads one secret; `undefined` if no secret has that name.
   *
   * @param metadata - the metadata of the request, such as the version of the secret that is wanted
   */
  get(name: string, metadata: Readonly<Record<string, string>>): Promise<SecretValues | undefined>;

  /**
   * Reads all secrets, by their names.
   *
   * @param metadata - the metadata of the request
   */
  all(metadata: Readonly<Record<string, string>>): Promise<Readonly<Record<string, SecretValues>>>;
}

/** An unopened secret store, as passed to a sidecar. @public */
export interface SecretStoreDefinition extends StoreDefinition {
  /** The building block. */
  readonly block: 'secrets';
  /** Opens the store for one sidecar. */
  open(context: ComponentContext): Promise<SecretStore>;
}
