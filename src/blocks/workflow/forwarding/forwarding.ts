import type { Membership } from '../../../cluster/membership.ts';
import { ClientPool } from '../../../http/client-pool.ts';
import type { Caller, Identity } from '../../../security/identity.ts';
import { LruCache } from '../../../util/lru.ts';
import type { Engine } from '../engine/engine.ts';
import type { InstanceView } from '../model/instance.ts';
import { canBeInstanceId } from '../model/instance-id.ts';
import type { InstanceWork } from '../operations/work.ts';
import { payloadOf } from '../storage/codec.ts';
import { type AwaitedStatus, DONE, type HostPeer } from './call.ts';
import { HostLane, MAX_LENGTH } from './host-lane.ts';
import { InboundCalls, type InboundCallsDeps } from './inbound-calls.ts';
import { InstanceWatch } from './instance-watch.ts';
import { Receipts } from './receipts.ts';
import { errorOf } from './refusal.ts';
import { RemoteHost } from './remote-host.ts';

/** The identity by which hosts of one application authenticate to each other. */
export interface HostIdentity {
  readonly own: Caller;
  readonly identity: Identity | undefined;
}

/** The dependencies of {@link Forwarding}. */
export interface ForwardingDeps extends HostIdentity {
  readonly engine: Engine;
  readonly membership: Membership;
  readonly admit: InboundCallsDeps['admit'];
  readonly waitHere: InboundCallsDeps['waitHere'];
}

/**
 * Does work on an instance through the store, whichever host owns it. Given a receipt, writes it in the same commit,
 * and does nothing if another host has written it. Returns the key of the new inbox message, if there is one.
 */
export type ThroughStore = (receipt?: string) => Promise<string | undefined | void>;

/** Max remembered hosts, and max remembered instances with events in their inboxes. */
const MAX_HOSTS = 100;
const MAX_BEHIND = 10_000;
/** Time limit for redoing a call of unknown outcome through the store: well before its receipt expires. */
const MAX_DOUBT_MS = 60_000;

/** Forwards work on instances of other hosts to their owner, or does it through the store if that is not possible. */
export class Forwarding {
  readonly #deps: ForwardingDeps;
  /** Handles calls of other hosts. */
  readonly inbound: InboundCalls;
  readonly #receipts: Receipts;
  readonly #ownership: Disposable;
  readonly #clients = new ClientPool(MAX_HOSTS);
  readonly #lanes = new LruCache<HostLane>(MAX_HOSTS, (lane) => lane.stop());
  /** The last event of this host that may still be in an instance's inbox: later events must not overtake it. */
  readonly #behind = new LruCache<string>(MAX_BEHIND);
  /** By instance, how much is on its way through the store, and the last call that the owner has not answered yet. */
  readonly #passing = new Map<string, number>();
  readonly #sent = new Map<string, { readonly lane: HostLane; readonly answered: Promise<unknown> }>();
  /** By instance, the last work that has yet to begin. */
  readonly #begun = new Map<string, Promise<unknown>>();
  #hasToldOfIdentity = false;

  constructor(deps: ForwardingDeps) {
    const { engine, membership } = deps;
    const { clock, work } = engine.host;
    this.#deps = deps;
    this.#receipts = new Receipts({ store: engine.store, clock, work });
    this.inbound = new InboundCalls({ ...deps, receipts: this.#receipts });
    membership.local.setWorkflowCalls(membership.id, this.inbound);
    this.#ownership = membership.shards.onChange(({ gained }) => {
      if (gained.length > 0) this.#readReceipts();
    });
    this.#readReceipts();
  }

  /** Takes over the removal of receipts from former owners. A single host leaves no receipts. */
  #readReceipts(): void {
    const { engine, membership } = this.#deps;
    if (membership.shards.isShared) void this.#receipts.readAll((id) => engine.owns(id));
  }

  /** Lets the owner do the work; else does it through the store, with a receipt if the owner may have done it. */
  async do(id: string, work: InstanceWork, throughStore: ThroughStore): Promise<void> {
    const begun = this.#begin(this.#begun.get(id), id, work, throughStore);
    this.#begun.set(id, begun);
    const { done } = await begun.finally(() => {
      if (this.#begun.get(id) === begun) this.#begun.delete(id);
    });
    await done;
  }

  /** Whether earlier work at an instance is not done: later work must not overtake it, even once this host owns it. */
  isBusyWith(id: string): boolean {
    return this.#begun.has(id) || this.#sent.has(id) || this.#passing.has(id);
  }

  /** Begins work once all earlier work at the instance has begun: to look whether it is behind may take a while. */
  async #begin(
    earlier: Promise<unknown> | undefined,
    id: string,
    work: InstanceWork,
    throughStore: ThroughStore,
  ): Promise<{ readonly done: Promise<void> }> {
    await earlier?.catch(() => undefined);
    const isBehind = this.#passing.has(id) || (await this.#isBehind(id));
    const lane = this.#laneOf(id);
    const length = id.length + lengthOf(work);
    const sent = this.#sent.get(id);
    if (lane === undefined || isBehind || length > MAX_LENGTH || (sent !== undefined && sent.lane !== lane))
      return { done: this.#pass(id, throughStore, sent?.answered) };
    return { done: this.#forward(lane, { id, work, length }, throughStore) };
  }

  async #forward(
    lane: HostLane,
    { id, work, length }: { readonly id: string; readonly work: InstanceWork; readonly length: number },
    throughStore: ThroughStore,
  ): Promise<void> {
    const { engine } = this.#deps;
    const key = engine.host.newId();
    const askedAt = engine.now;
    const done = engine.host.work.begin('call to another host');
    try {
      const answered = lane.send({ key, instanceId: id, work }, length);
      this.#sent.set(id, { lane, answered });
      const outcome = await answered;
      if (this.#sent.get(id)?.answered === answered) this.#sent.delete(id);
      if (outcome.is === DONE.is) return;
      if (outcome.is === 'refused') throw errorOf(outcome);
      if (outcome.is === 'not-done') return await this.#pass(id, throughStore);
      if (engine.now - askedAt > MAX_DOUBT_MS) throw new Error('another host may have done it, and has not said so');
      const receipt = engine.store.layout.receipt(id, key);
      await this.#pass(id, () => throughStore(receipt));
      this.#receipts.add(key, receipt);
    } finally {
      done();
    }
  }

  /** Does work through the store once the owner has answered an earlier call. Later work must not overtake it. */
  async #pass(id: string, throughStore: ThroughStore, earlier?: Promise<unknown>): Promise<void> {
    this.#passing.set(id, (this.#passing.get(id) ?? 0) + 1);
    try {
      if (earlier !== undefined) await earlier;
      const inboxKey = await throughStore();
      if (typeof inboxKey === 'string') this.#behind.set(id, inboxKey);
    } finally {
      const left = (this.#passing.get(id) ?? 1) - 1;
      if (left > 0) this.#passing.set(id, left);
      else this.#passing.delete(id);
    }
  }

  /**
   * Calls back with the view when an instance of another host reaches a status; without a view, the caller has to read
   * the store. While `isAsked` is false, the caller has to read the store as well.
   */
  watch(id: string, until: AwaitedStatus, onChange: (view?: InstanceView) => void): InstanceWatch {
    const { engine, membership } = this.#deps;
    const key = engine.store.layout.instance(id);
    return new InstanceWatch({
      ask: (listener) =>
        (canBeInstanceId(id) ? this.#laneOf(id) : undefined)?.wait({ instanceId: id, until }, listener),
      watchStore: (listener) => membership.shards.watch(key, listener),
      now: () => engine.now,
      onChange,
    });
  }

  /** Stops handling calls of other hosts. */
  beginStop(): void {
    const { local, id } = this.#deps.membership;
    local.setWorkflowCalls(id, undefined);
    this.inbound.stop();
  }

  async stop(): Promise<void> {
    this.#ownership[Symbol.dispose]();
    this.#receipts.stop();
    for (const lane of this.#lanes.take()) lane.stop();
    await this.#clients.close();
  }

  async #isBehind(id: string): Promise<boolean> {
    const key = this.#behind.get(id);
    if (key === undefined) return false;
    if ((await this.#deps.engine.store.message(key)) !== undefined) return true;
    const last = this.#behind.get(id);
    if (last === key) this.#behind.delete(id);
    return last !== undefined && last !== key;
  }

  /** The lane to the owner of an instance, if it is another host that accepts calls now. */
  #laneOf(id: string): HostLane | undefined {
    const { engine, membership, own } = this.#deps;
    if (engine.owns(id)) return undefined;
    const record = membership.owners.of(id);
    if (record === undefined || record.id === membership.id || record.namespace !== own.namespace) return undefined;
    const lane = this.#lanes.get(record.id) ?? this.#meet(record.id, record.address);
    return lane?.isOpen ? lane : undefined;
  }

  #meet(hostId: string, address: string | undefined): HostLane | undefined {
    const peer = this.#peerOf(hostId, address);
    if (peer === undefined) return undefined;
    const lane = new HostLane(peer, this.#deps.engine.host.clock);
    this.#lanes.set(hostId, lane);
    return lane;
  }

  /** A host of this process is called directly; any other at its address. */
  #peerOf(hostId: string, address: string | undefined): HostPeer | undefined {
    const { engine, membership, identity, own } = this.#deps;
    const local = membership.local.workflowCallsOf(hostId);
    if (local instanceof InboundCalls) return local;
    if (address === undefined || !/^https?:/i.test(address) || !URL.canParse(address)) return undefined;
    const { logger, wire } = engine.host;
    if (identity !== undefined)
      return new RemoteHost({ own, identity, wire, clients: this.#clients }, new URL(address));
    if (!this.#hasToldOfIdentity)
      logger.info(
        {},
        'work at workflows of other hosts goes through the store: without an identity they take no calls',
      );
    this.#hasToldOfIdentity = true;
    return undefined;
  }
}

function lengthOf(work: InstanceWork): number {
  return (work.type === 'start' ? work.input : payloadOf(work))?.length ?? 0;
}
