import type { AppMonitor } from '../app/app-monitor.ts';
import { BindingsService } from '../blocks/bindings/bindings-service.ts';
import type { BlockDeps } from '../blocks/block-deps.ts';
import type { BlockService } from '../blocks/block-service.ts';
import type { ConfigurationApp } from '../blocks/configuration/app-teller.ts';
import { ConfigurationService } from '../blocks/configuration/configuration-service.ts';
import { LockService } from '../blocks/locks/lock-service.ts';
import type { PubSubService } from '../blocks/pubsub/pubsub-service.ts';
import { knownMetadata, NO_METADATA } from '../blocks/request-metadata.ts';
import type { SecretsOptions } from '../blocks/secrets/options.ts';
import { SecretsService } from '../blocks/secrets/secrets-service.ts';
import { parseSave } from '../blocks/state/parse-changes.ts';
import { StateService } from '../blocks/state/state-service.ts';
import type { DescribedStore, FailedStore, Stores } from '../blocks/stores.ts';
import { type AnyComponentDefinition, pubsubsOf, storesOf } from '../components/any-component.ts';
import type { StoreDefinition } from '../components/component.ts';
import type { Resiliency } from '../resiliency/policy.ts';
import type { Wire } from '../wire.ts';
import { outboxPublisher } from './outbox-publisher.ts';

/** A building block whose components are stores. */
export interface StoreService extends BlockService {
  readonly stores: Pick<Stores<StoreDefinition>, 'unopened' | 'count' | 'describe' | 'failed'>;
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
  /** The application that changes of configuration are delivered to. */
  readonly app: ConfigurationApp | undefined;
  readonly monitor: AppMonitor | undefined;
  /** Whether the application is asked which input bindings it wants. */
  readonly asksApp: boolean;
  /** Its time limit for a change, in milliseconds; 0 for no limit. */
  readonly timeLimitMs: number;
  /** Its time limit for an event of an input binding, likewise. */
  readonly bindingTimeoutMs: number;
  readonly secrets: SecretsOptions;
}

/** The building blocks whose components are stores. */
export class StoreBlocks {
  readonly state: StateService;
  readonly secrets: SecretsService;
  readonly configuration: ConfigurationService;
  readonly locks: LockService;
  readonly bindings: BindingsService;
  /** All of them, in the order in which they open. */
  readonly services: readonly StoreService[];

  constructor(deps: StoreBlocksDeps) {
    this.state = new StateService({
      ...deps,
      definitions: storesOf(deps.components, 'state'),
      publisher: () => outboxPublisher(deps.pubsub()),
      hasPubSub: (name) => pubsubsOf(deps.components).some((pubsub) => pubsub.name === name),
    });
    this.secrets = new SecretsService({ ...deps, definitions: storesOf(deps.components, 'secrets') });
    const configurations = storesOf(deps.components, 'configuration');
    this.configuration = new ConfigurationService({ ...deps, definitions: configurations });
    this.locks = new LockService({ ...deps, definitions: storesOf(deps.components, 'lock') });
    this.bindings = new BindingsService({
      ...deps,
      definitions: storesOf(deps.components, 'bindings'),
      timeLimitMs: deps.bindingTimeoutMs,
      saveState: (storeName, items) => saveItems(this.state, deps.wire, storeName, items),
    });
    this.services = [this.state, this.secrets, this.configuration, this.locks, this.bindings];
  }

  /** The name of the store that is opened next, or being opened. */
  get unopened(): string | undefined {
    return this.services.find(({ stores }) => stores.unopened !== undefined)?.stores.unopened;
  }

  /** The number of stores. */
  get count(): number {
    return this.services.reduce((sum, { stores }) => sum + stores.count, 0);
  }

  /** The open stores. */
  describe(): readonly DescribedStore[] {
    return this.services.flatMap(({ stores }) => stores.describe());
  }

  /** The open stores that do not work at present. */
  failed(): readonly FailedStore[] {
    return this.services.flatMap(({ stores }) => stores.failed());
  }

  /** Closes the stores. The caller has waited for the work that may use them. */
  async close(): Promise<void> {
    await Promise.all(this.services.map((service) => service.close()));
  }
}

/** Saves state as the state API does, for the answer to an event of a binding. */
async function saveItems(state: StateService, wire: Wire, storeName: string, items: Buffer): Promise<void> {
  const form = { wire, known: knownMetadata([]) };
  await state.save(state.store(storeName), parseSave(items, { storeName, form, ofQuery: NO_METADATA }));
}
