import type { Membership } from '../../cluster/membership.ts';
import type { KeyValueDefinition } from '../../components/key-value.ts';
import type { Resiliency } from '../../resiliency/policy.ts';
import type { BlockDeps } from '../block-deps.ts';
import type { BlockService } from '../block-service.ts';
import { type DescribedStore, type FailedStore, Stores } from '../stores.ts';

/** The dependencies of a {@link StateService}. */
export interface StateServiceDeps extends BlockDeps {
  readonly resiliency: Resiliency;
  /** The stores that the application may use. */
  readonly definitions: readonly KeyValueDefinition[];
  /** Whether the namespace is more than the default: only then it is part of a key prefix. */
  readonly isNamespaceSet: boolean;
}

/** Saves and reads the values of applications. The routes and the public class parse its arguments. */
export class StateService implements BlockService {
  readonly #deps: StateServiceDeps;
  readonly #stores: Stores<KeyValueDefinition>;

  constructor(deps: StateServiceDeps) {
    this.#deps = deps;
    this.#stores = new Stores({ ...deps, block: 'state' });
  }

  /** The number of stores. */
  get count(): number {
    return this.#deps.definitions.length;
  }

  /** The name of the store that is opened next, or being opened. */
  get unopened(): string | undefined {
    return this.#stores.unopened;
  }

  /** The open stores with their capabilities. */
  describe(): readonly DescribedStore[] {
    const { transactionCapability } = this.#deps.wire;
    return this.#stores.list().map(({ definition, store }) => ({
      definition,
      capabilities: [
        ...['ETAG', transactionCapability, 'TTL'],
        ...(store.list === undefined || definition.options.primaryEncryptionKey !== undefined ? [] : ['QUERY_API']),
        ...(definition.isOwnState === true ? ['ACTOR'] : []),
      ],
    }));
  }

  /** The open stores that do not work at present. */
  failed(): readonly FailedStore[] {
    return this.#stores.failed();
  }

  open(membership: Membership): Promise<void> {
    return this.#stores.open(membership);
  }

  start(): void {}

  async stop(): Promise<void> {}

  /** Closes the stores. */
  close(): Promise<void> {
    return this.#stores.close();
  }
}
