import type { Membership } from '../../cluster/membership.ts';
import type { ConfigurationItem, ConfigurationStoreDefinition } from '../../components/configuration-store.ts';
import type { Resiliency } from '../../resiliency/policy.ts';
import { outside } from '../../util/outside.ts';
import type { BlockDeps } from '../block-deps.ts';
import type { BlockService } from '../block-service.ts';
import { callStore } from '../call-store.ts';
import { type NamedStore, Stores } from '../stores.ts';
import { AppTeller, type ConfigurationApp } from './app-teller.ts';
import { configurationGetFailed, configurationSubscribeFailed, noAppForChanges } from './errors.ts';
import {
  ConfigurationSubscription,
  type SubscribedStore,
  type SubscriptionDeps,
  type TellChange,
} from './subscription.ts';

/** Subscriptions of a sidecar. */
const MAX_SUBSCRIPTIONS = 1_000;

/** The dependencies of a {@link ConfigurationService}. */
export interface ConfigurationServiceDeps
  extends Pick<BlockDeps, 'appId' | 'clock' | 'logger' | 'work' | 'random' | 'newId' | 'probe' | 'admit'> {
  readonly resiliency: Resiliency;
  /** The stores that the application may use. */
  readonly definitions: readonly ConfigurationStoreDefinition[];
  /** The application that changes are delivered to. */
  readonly app: ConfigurationApp | undefined;
  /** The application's time limit for a change, in milliseconds; 0 for no limit. */
  readonly timeLimitMs: number;
}

/** A request to read or to subscribe. */
export interface ConfigurationRequest {
  /** Without keys, all. */
  readonly keys: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
}

/** How a subscription tells changes. */
interface Telling extends Pick<SubscriptionDeps, 'target' | 'tell'> {
  /** Whether the present values are told like changes. */
  readonly tellsPresent: boolean;
}

type NamedConfiguration = NamedStore<ConfigurationStoreDefinition>;

/** Reads configuration and tells its changes. The routes and the public class parse its arguments. */
export class ConfigurationService implements BlockService {
  readonly #deps: ConfigurationServiceDeps;
  readonly stores: Stores<ConfigurationStoreDefinition>;
  readonly #subscriptions = new Map<string, ConfigurationSubscription>();
  #hasStopped = false;

  constructor(deps: ConfigurationServiceDeps) {
    this.#deps = deps;
    this.stores = new Stores({ ...deps, block: 'configuration' });
  }

  /** Reads keys, those that exist. */
  async get(storeName: string, request: ConfigurationRequest): Promise<ReadonlyMap<string, ConfigurationItem>> {
    this.#deps.admit();
    const named = this.stores.find(storeName);
    try {
      return await this.#read(named, request);
    } catch (error) {
      throw configurationGetFailed(storeName, request.keys, error);
    }
  }

  #read(
    named: NamedConfiguration,
    { keys, metadata }: ConfigurationRequest,
  ): Promise<ReadonlyMap<string, ConfigurationItem>> {
    return callStore(named, { action: 'get', probe: this.#deps.probe }, (store) => store.get(keys, metadata));
  }

  #subscribed(named: NamedConfiguration, { metadata }: ConfigurationRequest): SubscribedStore {
    return {
      name: named.definition.name,
      get: (keys) => this.#read(named, { keys, metadata }),
      watch: (keys, changed) => outside(() => named.store.watch(keys, { metadata, changed })),
    };
  }

  /** Tells changes to the application from now on. Returns the ID of the subscription. */
  async subscribeApp(storeName: string, request: ConfigurationRequest): Promise<string> {
    this.#deps.admit();
    const { app, resiliency, newId } = this.#deps;
    this.stores.find(storeName);
    if (app === undefined) throw noAppForChanges();
    const policy = resiliency.forComponent(storeName, 'inbound', 'Configuration');
    const id = newId();
    const teller = new AppTeller(id, { ...this.#deps, app, storeName, policy });
    const tell: TellChange = (...change) => teller.tell(...change);
    await this.#subscribe(storeName, request, { id, target: 'app', tell, tellsPresent: false });
    return id;
  }

  /** Tells changes to code. */
  async watch(
    storeName: string,
    request: ConfigurationRequest,
    telling: Omit<Telling, 'target'>,
  ): Promise<ConfigurationSubscription> {
    this.#deps.admit();
    return this.#subscribe(storeName, request, { id: this.#deps.newId(), target: 'code', ...telling });
  }

  async #subscribe(
    storeName: string,
    request: ConfigurationRequest,
    { tellsPresent, ...telling }: Telling & { readonly id: string },
  ): Promise<ConfigurationSubscription> {
    const named = this.stores.find(storeName);
    const store = this.#subscribed(named, request);
    const subscription = new ConfigurationSubscription({ ...this.#deps, ...telling, store, keys: request.keys });
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS) {
      const problem = `there are ${MAX_SUBSCRIPTIONS} subscriptions, the most that a sidecar may have`;
      throw configurationSubscribeFailed(storeName, new Error(problem));
    }
    this.#subscriptions.set(subscription.id, subscription);
    try {
      await subscription.open(tellsPresent);
      if (this.#hasStopped) await subscription.close();
      return subscription;
    } catch (error) {
      this.#subscriptions.delete(subscription.id);
      throw configurationSubscribeFailed(storeName, error);
    }
  }

  /** The subscriptions to a store, the earliest first. */
  subscriptions(storeName: string): readonly ConfigurationSubscription[] {
    const { name } = this.stores.find(storeName).definition;
    return [...this.#subscriptions.values()].filter((one) => one.storeName === name);
  }

  /** Ends a subscription; returns whether there was one. No change is delivered afterwards. */
  async unsubscribe(storeName: string, id: string): Promise<boolean> {
    this.#deps.admit();
    this.stores.find(storeName);
    const found = this.#subscriptions.get(id);
    if (found === undefined || found.storeName !== storeName) return false;
    await this.end(found);
    return true;
  }

  /** Ends a subscription. Does not wait for a change that is being delivered: its receiver may end the subscription. */
  async end(subscription: ConfigurationSubscription): Promise<void> {
    this.#subscriptions.delete(subscription.id);
    await subscription.close();
  }

  open(membership: Membership): Promise<void> {
    return this.stores.open(membership);
  }

  start(): void {}

  /** Ends the subscriptions, and waits for the changes that are being delivered. */
  async stop(): Promise<void> {
    this.#hasStopped = true;
    const all = [...this.#subscriptions.values()];
    this.#subscriptions.clear();
    await Promise.allSettled(all.map((one) => one.close()));
    await Promise.all(all.map((one) => one.settled()));
  }

  /** Closes the stores. */
  close(): Promise<void> {
    return this.stores.close();
  }
}
