import type { BlockDeps } from '../blocks/block-deps.ts';
import type { BlockService } from '../blocks/block-service.ts';
import type { PubSubService } from '../blocks/pubsub/pubsub-service.ts';
import { StateService } from '../blocks/state/state-service.ts';
import type { DescribedStore, FailedStore } from '../blocks/stores.ts';
import { type AnyComponentDefinition, pubsubsOf, storesOf } from '../components/any-component.ts';
import type { Resiliency } from '../resiliency/policy.ts';
import { outboxPublisher } from './outbox-publisher.ts';

/** A building block whose components are stores. */
export interface StoreBlock extends BlockService {
  /** The name of the store that is opened next, or being opened. */
  readonly unopened: string | undefined;
  /** The number of its stores. */
  readonly count: number;
  /** Its open stores. */
  describe(): readonly DescribedStore[];
  /** Its open stores that do not work at present. */
  failed(): readonly FailedStore[];
  /** Closes its stores, at a second time later ones too. */
  close(): Promise<void>;
}

/** The dependencies of {@link StoreBlocks}. */
export interface StoreBlocksDeps extends BlockDeps {
  readonly resiliency: Resiliency;
  /** The components that the application may use. */
  readonly components: readonly AnyComponentDefinition[];
  readonly isNamespaceSet: boolean;
  /** Pub/sub, for the events of transactions. */
  readonly pubsub: () => PubSubService;
}

/** The building blocks whose components are stores. */
export class StoreBlocks {
  readonly state: StateService;
  /** All of them, in the order in which they open. */
  readonly services: readonly StoreBlock[];

  constructor(deps: StoreBlocksDeps) {
    this.state = new StateService({
      ...deps,
      definitions: storesOf(deps.components, 'state'),
      publisher: () => outboxPublisher(deps.pubsub()),
      hasPubSub: (name) => pubsubsOf(deps.components).some((pubsub) => pubsub.name === name),
    });
    this.services = [this.state];
  }

  /** The name of the store that is opened next, or being opened. */
  get unopened(): string | undefined {
    return this.services.find(({ unopened }) => unopened !== undefined)?.unopened;
  }

  /** The number of stores. */
  get count(): number {
    return this.services.reduce((sum, { count }) => sum + count, 0);
  }

  /** The open stores. */
  describe(): readonly DescribedStore[] {
    return this.services.flatMap((service) => service.describe());
  }

  /** The open stores that do not work at present. */
  failed(): readonly FailedStore[] {
    return this.services.flatMap((service) => service.failed());
  }

  /** Closes the stores. Whoever calls has waited for what may use them. */
  async close(): Promise<void> {
    await Promise.all(this.services.map((service) => service.close()));
  }
}
