import type { HostRecord } from '../../../cluster/hosts.ts';
import type { Membership } from '../../../cluster/membership.ts';
import type { Handler } from '../../../http/message.ts';
import { type Clock, type DualInstant, dualNow, msSince } from '../../../util/clock.ts';
import { baseUrlOf } from '../endpoints.ts';
import type { Instance } from '../resolver.ts';
import type { Instances } from './instances.ts';

/** How long a snapshot of the registry is used. */
const FRESH_MS = 1_000;

/** A sidecar as called by others in its process. */
class Peer {
  readonly handle: Handler;
  isGone = false;

  constructor(handle: Handler) {
    this.handle = (request) => (this.isGone ? Promise.reject(notThere()) : handle(request));
  }
}

/** Lets other sidecars of this process that share the store call this one without a socket. */
export function offerPeer(host: Membership, handle: Handler): void {
  host.offered = new Peer(handle);
}

/** Ends the offer when the sidecar stops: calls go to others. */
export function withdrawPeer({ offered }: Membership): void {
  if (offered instanceof Peer) offered.isGone = true;
}

/** The error of an address at which no process listens. */
function notThere(): Error {
  return Object.assign(new Error('the sidecar is stopping'), { code: 'ECONNREFUSED', syscall: 'connect' });
}

interface Snapshot {
  readonly readAt: DualInstant;
  readonly revision: number;
  /** By app ID and namespace. */
  readonly hosts: ReadonlyMap<string, readonly HostRecord[]>;
}

/** The hosts of the store as instances of applications. */
export class HostRegistry {
  readonly #host: Membership;
  readonly #clock: Clock;
  #snapshot: Snapshot | undefined;
  #reading: Promise<Snapshot> | undefined;

  constructor(host: Membership, clock: Clock) {
    this.#host = host;
    this.#clock = clock;
  }

  /** The instances of an application. Uses a recent snapshot, unless it has none of them. */
  async find(name: string, instances: Instances): Promise<readonly Instance[]> {
    const fresh = this.#freshSnapshot();
    const known = fresh && this.#instancesOf(fresh, name, instances);
    if (known !== undefined && known.length > 0) return known;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#instancesOf(await this.#reading, name, instances);
  }

  /** Discards the snapshot because part of it is wrong. */
  forget(): void {
    this.#snapshot = undefined;
  }

  #freshSnapshot(): Snapshot | undefined {
    const { local } = this.#host;
    const snapshot = this.#snapshot;
    if (snapshot === undefined || snapshot.revision !== local.revision) return undefined;
    return msSince(snapshot.readAt, this.#clock) < FRESH_MS ? snapshot : undefined;
  }

  async #read(): Promise<Snapshot> {
    const { revision } = this.#host.local;
    const readAt = dualNow(this.#clock);
    const table = await this.#host.hosts();
    const hosts = new Map<string, HostRecord[]>();
    for (const host of table.hosts) {
      const name = `${host.appId}.${host.namespace}`;
      const list = hosts.get(name);
      if (list === undefined) hosts.set(name, [host]);
      else list.push(host);
    }
    this.#snapshot = { readAt, revision, hosts };
    return this.#snapshot;
  }

  #instancesOf({ hosts }: Snapshot, name: string, instances: Instances): readonly Instance[] {
    return (hosts.get(name) ?? []).flatMap((host) => this.#instanceOf(host, instances) ?? []);
  }

  /** An instance in this process if possible, else at its address; none if it has no address. */
  #instanceOf({ id, address }: HostRecord, instances: Instances): Instance | undefined {
    const peer = this.#host.local.offeredBy(id);
    if (peer instanceof Peer) return instances.inProcess(id, peer.handle);
    const baseUrl = address === undefined ? undefined : baseUrlOf(address);
    return baseUrl && instances.at(baseUrl);
  }
}
