import type { Membership } from '../../../cluster/membership.ts';
import type { Clock } from '../../../util/clock.ts';
import type { Instance, Resolver } from '../resolver.ts';
import { Instances } from './instances.ts';
import { dnsPlace, type NameResolutionOptions, type Names, readNames } from './options.ts';
import { HostRegistry } from './registry.ts';

/** What names are resolved with. */
export interface NameResolverDeps {
  readonly options: NameResolutionOptions;
  /** The own one. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: () => number;
}

/**
 * Finds the instances of an application: in the table of the options, else among the hosts that share the store, else
 * by a host name that is made of its name.
 */
export class NameResolver implements Resolver {
  readonly #names: Names;
  readonly #clock: Clock;
  readonly #instances: Instances;
  #registry: HostRegistry | undefined;

  /** @throws SidecarError `ERR_CONFIGURATION` naming a URL or template that cannot be used. */
  constructor({ options, namespace, clock, random }: NameResolverDeps) {
    this.#names = readNames(options, namespace);
    this.#clock = clock;
    this.#instances = new Instances(clock, random);
  }

  /** From now on the hosts of the store are known. */
  start(host: Membership): void {
    this.#registry = new HostRegistry(host, this.#clock);
  }

  async resolve(appId: string, namespace: string): Promise<readonly Instance[]> {
    const name = `${appId}.${namespace}`;
    const places = this.#names.table.get(name);
    if (places !== undefined) return this.#instances.inOrder(places.map((place) => this.#instances.at(place)));
    const hosts = (await this.#registry?.find(name, this.#instances)) ?? [];
    if (hosts.length > 0) return this.#instances.inOrder(hosts);
    const { dns } = this.#names;
    const place = dns && dnsPlace(dns, appId, namespace);
    return place === undefined ? [] : [this.#instances.at(place)];
  }

  failed(instance: Instance): void {
    this.#instances.failed(instance);
    this.#registry?.forget();
  }

  /** Breaks off what is still under way. */
  close(): Promise<void> {
    this.#registry = undefined;
    return this.#instances.close();
  }
}
