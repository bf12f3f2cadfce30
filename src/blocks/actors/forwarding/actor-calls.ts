import type { HostRecord } from '../../../cluster/hosts.ts';
import type { Membership } from '../../../cluster/membership.ts';
import { SidecarError } from '../../../errors.ts';
import { ClientPool } from '../../../http/client-pool.ts';
import { sidecarClient } from '../../../http/direct-client.ts';
import { type Clock, dualNow, msSince, sleep } from '../../../util/clock.ts';
import type { Logger } from '../../../util/logger.ts';
import { LruCache } from '../../../util/lru.ts';
import type { Wire } from '../../../wire.ts';
import type { HostIdentity } from '../../host-identity.ts';
import type { ActorAddress } from '../model/address.ts';
import type { ActorCall, ActorCaller, ActorReply } from '../model/call.ts';
import { ActorMoved, invokeFailed, noAddress } from '../model/errors.ts';
import type { Directory } from './directory.ts';
import { HostDeaths } from './host-deaths.ts';
import { InboundActorCalls } from './inbound-calls.ts';
import type { ActorPeer } from './peer.ts';
import { RemotePeer } from './remote-peer.ts';

/** How long a call waits for a host of the type, and for the end of a move. */
const UNKNOWN_MS = 5_000;
const MOVE_MS = 20_000;
/** How often it looks again meanwhile. */
const [FIRST_LOOK_MS, LOOK_MS] = [10, 100];
/** The most hosts with open connections, and the most that are known to stop. */
const MAX_HOSTS = 100;

/** The dependencies of {@link ActorCalls}. */
export interface ActorCallsDeps extends HostIdentity {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly wire: Wire;
  readonly membership: Membership;
  readonly directory: Directory;
  readonly headLimitBytes: number;
  /** Whether a call belongs to the chain that has the turn of an actor of this host. */
  readonly holds: (address: ActorAddress, chain: string | undefined) => boolean;
  /** Calls an actor of this host. @throws ActorMoved if it is not here */
  readonly callHere: (address: ActorAddress, call: ActorCall, caller: ActorCaller) => Promise<ActorReply>;
}

/** Calls actors wherever they are. A call that meets a move waits for its end; nothing that may have run is repeated. */
export class ActorCalls {
  readonly #deps: ActorCallsDeps;
  readonly #clients: ClientPool;
  readonly #deaths: HostDeaths;
  readonly #peers = new LruCache<RemotePeer>(MAX_HOSTS);
  readonly #stopping = new AbortController();
  /**
   * Hosts that have said that they stop. They are asked no more: their connections close soon, and a call whose
   * connection breaks has failed, as it may have run.
   */
  readonly #leaving = new LruCache<true>(MAX_HOSTS);

  constructor(deps: ActorCallsDeps) {
    this.#deps = deps;
    this.#clients = new ClientPool(MAX_HOSTS, deps.headLimitBytes, sidecarClient);
    this.#deaths = new HostDeaths(deps.clock, (hostId) => deps.directory.isLive(hostId));
  }

  /** @throws SidecarError `ERR_ACTOR_INVOKE_METHOD`, `ERR_ACTOR_NO_ADDRESS`, `ERR_ACTOR_STACK_DEPTH` */
  call(address: ActorAddress, call: ActorCall): Promise<ActorReply> {
    if (!this.#isHere(address, call)) return this.#callWhereItIs(address, call);
    const { own, callHere } = this.#deps;
    return callHere(address, call, own).catch((error: unknown) => {
      if (error instanceof ActorMoved) return this.#callWhereItIs(address, call);
      throw error;
    });
  }

  #isHere(address: ActorAddress, { chain }: ActorCall): boolean {
    return this.#deps.directory.isHere(address) || this.#deps.holds(address, chain);
  }

  async #callWhereItIs(address: ActorAddress, call: ActorCall): Promise<ActorReply> {
    const { clock, wire } = this.#deps;
    const startedAt = dualNow(clock);
    for (let delayMs = FIRST_LOOK_MS; ; delayMs = Math.min(LOOK_MS, delayMs * 2)) {
      const reply = await this.#try(address, call);
      if (reply !== undefined && reply !== 'unknown') return reply;
      this.#checkRunning();
      const waitedMs = msSince(startedAt, clock);
      if (reply === 'unknown' && waitedMs >= UNKNOWN_MS) throw noAddress(address, wire.actorRules.isUnknownTypeFailure);
      if (waitedMs >= MOVE_MS) throw invokeFailed(address, `it has had no host for ${MOVE_MS / 1_000} s`);
      await sleep(clock, delayMs, this.#stopping.signal).catch(() => this.#checkRunning());
      if (call.cancel.aborted) throw call.cancel.reason;
      this.#deps.directory.forget();
    }
  }

  /** Without a reply, nothing was done. */
  async #try(address: ActorAddress, call: ActorCall): Promise<ActorReply | 'unknown' | undefined> {
    const { own, directory, callHere } = this.#deps;
    if (this.#isHere(address, call)) {
      try {
        return await callHere(address, call, own);
      } catch (error) {
        if (error instanceof ActorMoved) return undefined;
        throw error;
      }
    }
    const place = await directory.find(address);
    if (place.kind === 'unknown') return 'unknown';
    if (place.kind !== 'host' || this.#leaving.get(place.host.id)) return undefined;
    return this.#peerOf(address, place.host).call(address, call, own);
  }

  /** A host of this process is called directly; any other at its address. */
  #peerOf(address: ActorAddress, host: HostRecord): ActorPeer {
    const { membership, identity, wire } = this.#deps;
    const local = membership.local.callsOf(host.id, 'actors');
    if (local instanceof InboundActorCalls) return local;
    const known = this.#peers.get(host.id);
    if (known !== undefined && known.address === host.address) return known;
    const { id, appId, namespace } = host;
    if (host.address === undefined || !/^https?:/i.test(host.address) || !URL.canParse(host.address))
      throw invokeFailed(
        address,
        `it lives at host ${id} of ${appId}, which has no address: set the option address there`,
      );
    if (identity === undefined)
      throw invokeFailed(
        address,
        `it lives at another host of ${appId}, and calls between hosts need the option identity at each of them`,
      );
    const deps = {
      identity,
      wire,
      clients: this.#clients,
      onDeath: (hostId: string, listener: () => void) => this.#deaths.onDeath(hostId, listener),
      onLeaving: (hostId: string) => this.#leaving.set(hostId, true),
    };
    const peer = new RemotePeer(deps, { id, appId, namespace, address: host.address });
    this.#peers.set(id, peer);
    return peer;
  }

  #checkRunning(): void {
    if (!this.#stopping.signal.aborted) return;
    throw new SidecarError('ERR_SHUTTING_DOWN', 'the sidecar is stopping', { headers: { 'retry-after': '1' } });
  }

  /** Calls that wait for a host are refused. */
  beginStop(): void {
    this.#stopping.abort(new Error('the sidecar is stopping'));
  }

  close(): Promise<void> {
    return this.#clients.close();
  }
}
