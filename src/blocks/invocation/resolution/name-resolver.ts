import type { Membership } from '../../../cluster/membership.ts';
import type { Clock } from '../../../util/clock.ts';
import type { Instance, Resolver } from '../resolver.ts';
import { Instances } from './instances.ts';
import { dnsBaseUrl, type NameResolutionOptions, type NameSettings, readNames } from './options.ts';
import { HostRegistry } from './registry.ts';

export interface NameResolverDeps {
  readonly options: NameResolutionOptions;
  /** The own namespace. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** The largest head of a response that is read. */
  readonly headLimitBytes?: number;
}

/**
 * Finds the instances of an application: in the table of the options, else among the hosts that share the store, else
 * by a host name built from its name.
 */
export class NameResolver implements Resolver {
  readonly #names: NameSettings;
  readonly #clock: Clock;
  readonly #instances: Instances;
  #registry: HostRegistry | undefined;

  /** @throws SidecarError `ERR_CONFIGURATION` naming the invalid URL or template. */
  constructor({ options, namespace, clock, random, headLimitBytes }: NameResolverDeps) {
    this.#names = readNames(options, namespace);
    this.#clock = clock;
    this.#instances = new Instances(clock, random, headLimitBytes);
  }

  /** Starts resolving through the hosts of the store. */
  start(host: Membership): void {
    this.#registry = new HostRegistry(host, this.#clock);
  }

  async resolve(appId: string, namespace: string): Promise<readonly Instance[]> {
    const name = `${appId}.${namespace}`;
    const baseUrls = this.#names.table.get(name);
    if (baseUrls !== undefined) return this.#instances.inOrder(baseUrls.map((baseUrl) => this.#instances.at(baseUrl)));
    const hosts = (await this.#registry?.find(name, this.#instances)) ?? [];
    if (hosts.length > 0) return this.#instances.inOrder(hosts);
    const { dns } = this.#names;
    const baseUrl = dns && dnsBaseUrl(dns, appId, namespace);
    return baseUrl === undefined ? [] : [this.#instances.at(baseUrl)];
  }

  failed(instance: Instance): void {
    this.#instances.failed(instance);
    this.#registry?.forget();
  }

  /** Aborts requests in progress. */
  close(): Promise<void> {
    this.#registry = undefined;
    return this.#instances.close();
  }
}
