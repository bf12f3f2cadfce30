import { type HostRecord, type HostTable, readShards } from '../../cluster/hosts.ts';
import { SidecarError } from '../../errors.ts';
import type { StateStore } from '../../state/store.ts';
import type { Logger } from '../../util/logger.ts';
import type { Wire } from '../../wire.ts';

/** A host with actor types. @public */
export interface PlacementHost {
  /** `host:port` of its address; `in-process:0` if it has none. */
  readonly name: string;
  /** Its namespace. */
  readonly namespace: string;
  /** Its app ID. */
  readonly appId: string;
  /** Its actor types, in alphabetical order. */
  readonly actorTypes: readonly string[];
  /** When it was registered or its types last changed, in milliseconds since 1970. */
  readonly updatedAt: number;
}

/** The hosts with actor types that share a store. @public */
export interface PlacementTable {
  /** The live hosts, ordered by app ID and name. */
  readonly hostList: readonly PlacementHost[];
  /** Grows with every change; across restarts too, if the store is durable. */
  readonly tableVersion: number;
}

/** A live host of the store. @public */
export interface HostInfo {
  /** Its ID: a new one at every start. */
  readonly hostId: string;
  /** Whether it is this host. */
  readonly isSelf: boolean;
  /** Its app ID. */
  readonly appId: string;
  /** Its namespace. */
  readonly namespace: string;
  /** The URL at which other sidecars reach it; absent if it has none. */
  readonly address?: string;
  /** Its actor types, in alphabetical order. */
  readonly actorTypes: readonly string[];
  /** When it was registered or its actor types last changed, in milliseconds since 1970. */
  readonly updatedAt: number;
  /** The shards of its app ID that it owns, 0 to 63, in order: its part of the jobs, workflows and queues. */
  readonly shards: readonly number[];
}

/** An actor type of this host. */
export interface ActorType {
  readonly type: string;
  /** The number of its actors in memory. */
  readonly count: number;
}

/** The numbers of workflows and activities in memory. */
export interface WorkflowCounts {
  readonly workflows: () => number;
  readonly activities: () => number;
}

/** The part of the host registry that the block uses. */
export interface PlacementRegistry {
  /** The ID of this host. */
  readonly id: string;
  readonly store: StateStore;
  hosts(): Promise<HostTable>;
  setActorTypes(types: readonly string[]): Promise<void>;
}

export interface PlacementDeps {
  readonly enabled: boolean;
  readonly appId: string;
  readonly namespace: string;
  readonly wire: Pick<Wire, 'actorTypePrefix'>;
  readonly actorTypes: readonly string[];
  readonly logger: Logger;
}

const NO_COUNT = (): number => 0;

/**
 * The actor types of each host: those of the workflow engine and those that the application declares.
 *
 * @public
 */
export class Placement {
  readonly #deps: PlacementDeps;
  readonly #types = new Map<string, () => number>();
  /** Those that `setActors` has set. */
  #ofApp: readonly string[] = [];
  #registry: PlacementRegistry | undefined;

  /** @internal */
  constructor(deps: PlacementDeps) {
    this.#deps = deps;
    for (const type of deps.actorTypes) this.#types.set(type, NO_COUNT);
  }

  /**
   * The current table from the store.
   *
   * @throws SidecarError `ERR_NOT_FOUND` if the option `placement.enabled` is not set, `ERR_INTERNAL` if the table
   * cannot be read.
   */
  async get(): Promise<PlacementTable> {
    if (!this.#deps.enabled)
      throw new SidecarError('ERR_NOT_FOUND', 'the placement table is not shown: option placement.enabled is not set');
    const { hosts, tableVersion } = await this.#read((registry) => registry.hosts());
    const hostList = hosts.filter(({ actorTypes }) => actorTypes.length > 0).map(shown);
    hostList.sort((a, b) => compare(a.appId, b.appId) || compare(a.name, b.name));
    return { hostList, tableVersion };
  }

  /**
   * The live hosts that share the state store, of all app IDs, ordered by app ID and host ID; whatever the option
   * `placement` says. While a shard goes from one host to another, none may have it.
   *
   * @throws SidecarError `ERR_INTERNAL` if the sidecar is not running, or the store cannot be read.
   * @example
   * ```ts
   * for (const { appId, hostId, shards } of await sidecar.placement.hosts()) console.log(appId, hostId, shards.length);
   * ```
   */
  async hosts(): Promise<readonly HostInfo[]> {
    return this.#read(async (registry) => {
      const [{ hosts }, shards] = await Promise.all([registry.hosts(), readShards(registry.store)]);
      const infos = hosts.map((host) => infoOf(host, registry.id, shards.get(host.id) ?? []));
      return infos.sort((a, b) => compare(a.appId, b.appId) || compare(a.hostId, b.hostId));
    });
  }

  async #read<T>(read: (registry: PlacementRegistry) => Promise<T>): Promise<T> {
    if (this.#registry === undefined) throw new SidecarError('ERR_INTERNAL', 'the sidecar is not running');
    try {
      return await read(this.#registry);
    } catch (cause) {
      throw new SidecarError('ERR_INTERNAL', 'the placement table cannot be read from the state store', { cause });
    }
  }

  /** The actor types of this host, for metadata and the registry. @internal */
  actors(): readonly ActorType[] {
    return [...this.#types].map(([type, count]) => ({ type, count: count() }));
  }

  /** Their names. @internal */
  get actorTypes(): readonly string[] {
    return [...this.#types.keys()].sort();
  }

  /** Shows the actor types of the application on this host, in place of those before. @internal */
  async setActors(types: readonly string[], count: (actorType: string) => number): Promise<void> {
    for (const type of this.#ofApp) if (!this.#deps.actorTypes.includes(type)) this.#types.delete(type);
    this.#ofApp = types;
    for (const type of types) this.#types.set(type, () => count(type));
    await this.#registry?.setActorTypes(this.actorTypes);
  }

  /** Adds the actor types of workflows to this host. @internal */
  hasWorkflows({ workflows, activities }: WorkflowCounts): void {
    const { wire, namespace, appId } = this.#deps;
    const prefix = `${wire.actorTypePrefix}.${namespace}.${appId}`;
    this.#types.set(`${prefix}.workflow`, workflows);
    this.#types.set(`${prefix}.activity`, activities);
    this.#tell();
  }

  /** Connects the registry, which has this host with its earlier types. @internal */
  start(registry: PlacementRegistry): void {
    this.#registry = registry;
    this.#tell();
  }

  /** Disconnects the registry. @internal */
  stop(): void {
    this.#registry = undefined;
  }

  #tell(): void {
    this.#registry?.setActorTypes(this.actorTypes).catch((error: unknown) => {
      this.#deps.logger.error({ error }, 'the actor types of this host could not be published');
    });
  }
}

function infoOf(host: HostRecord, ownId: string, shards: readonly number[]): HostInfo {
  const { id: hostId, appId, namespace, address, actorTypes, updatedAt } = host;
  return {
    ...{ hostId, isSelf: hostId === ownId, appId, namespace },
    ...(address === undefined ? undefined : { address }),
    ...{ actorTypes, updatedAt, shards: [...shards].sort((a, b) => a - b) },
  };
}

function shown({ id: _id, address, namespace, appId, actorTypes, updatedAt }: HostRecord): PlacementHost {
  return { name: nameOf(address), namespace, appId, actorTypes, updatedAt };
}

function nameOf(address: string | undefined): string {
  if (address === undefined || !URL.canParse(address)) return 'in-process:0';
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
