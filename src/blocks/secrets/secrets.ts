import type { SecretValues } from '../../components/secret-store.ts';
import { checkOptions, invalidArgument, type OptionFields, TEXT_BY_NAME } from '../../util/option-fields.ts';
import { shown } from '../../util/shown.ts';
import type { SecretsService } from './secrets-service.ts';

/** Options of reading secrets. @public */
export interface SecretReadOptions {
  /** Passed to the store. The stores of this package use none. Default: none. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

type Metadata = Readonly<Record<string, string>>;

const READ_OPTIONS: OptionFields<SecretReadOptions> = { metadata: TEXT_BY_NAME };

/**
 * Secrets of the application, from files, environment variables, or stores of your own. What it may read is decided by
 * the option `secrets.scopes`.
 *
 * @example
 * ```ts
 * const { DATABASE_URL } = (await sidecar.secrets.get('env', 'DATABASE_URL')) ?? {};
 * ```
 * @public
 */
export class Secrets {
  readonly #service: SecretsService;

  /** @internal */
  constructor(service: SecretsService) {
    this.#service = service;
  }

  /**
   * Reads one secret: its values by their keys. A store with one value for each secret has it under the secret's name.
   * `undefined` if there is no such secret; environment variables that are not set are empty.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT`; `ERR_SECRET_STORE_NOT_FOUND`, `ERR_SECRET_STORES_NOT_CONFIGURED`; `ERR_PERMISSION_DENIED` for a
   * secret that the application may not read, whether it exists or not; `ERR_SECRET_GET` when the store fails.
   */
  get(store: string, name: string, options: SecretReadOptions = {}): Promise<SecretValues | undefined> {
    return this.#read(options, (metadata) => {
      if (typeof name !== 'string' || name === '')
        throw invalidArgument(`the name of the secret is ${shown(name)}: expected a text that is not empty`, 'name');
      return this.#service.get(store, name, metadata);
    });
  }

  /**
   * Reads all secrets that the application may read, by their names.
   *
   * @throws SidecarError as {@link Secrets.get} does, but for `ERR_PERMISSION_DENIED`.
   */
  all(store: string, options: SecretReadOptions = {}): Promise<Readonly<Record<string, SecretValues>>> {
    return this.#read(options, (metadata) => this.#service.all(store, metadata));
  }

  async #read<T>(options: SecretReadOptions, read: (metadata: Metadata) => Promise<T>): Promise<T> {
    checkOptions('options of secrets', options, READ_OPTIONS, invalidArgument);
    return read(options.metadata ?? {});
  }
}
