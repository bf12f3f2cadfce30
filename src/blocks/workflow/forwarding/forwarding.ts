import type { Membership } from '../../../cluster/membership.ts';
import { ClientPool } from '../../../http/client-pool.ts';
import { dualNow, msSince } from '../../../util/clock.ts';
import { LruCache } from '../../../util/lru.ts';
import type { HostIdentity } from '../../host-identity.ts';
import type { Engine } from '../engine/engine.ts';
import type { InstanceView } from '../model/instance.ts';
import { canBeInstanceId } from '../model/instance-id.ts';
import { type Sending, sendHere, sendTogether } from '../operations/send.ts';
import type { InstanceWork } from '../operations/work.ts';
import { payloadOf } from '../storage/codec.ts';
import { type AwaitedStatus, DONE, type HostPeer } from './call.ts';
import { HostLane, MAX_LENGTH } from './host-lane.ts';
import { InboundCalls, type InboundCallsDeps } from './inbound-calls.ts';
import { InstanceLine, THROUGH_STORE, UNDECIDED } from './instance-line.ts';
import { InstanceWatch } from './instance-watch.ts';
import { Receipts } from './receipts.ts';
import { errorOf } from './refusal.ts';
import { RemoteHost } from './remote-host.ts';

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

/** Work at an instance, and its place among other work there. */
interface Task {
  readonly line: InstanceLine;
  readonly id: string;
  readonly work: InstanceWork;
  readonly throughStore: ThroughStore;
  readonly length: number;
}

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
  /** By instance, what is not done yet. */
  readonly #lines = new Map<string, InstanceLine>();
  /** The way of work here. Work that began before other shards came may be at an instance that this host had before. */
  #tenure = Symbol('here');
  #hasToldOfIdentity = false;

  constructor(deps: ForwardingDeps) {
    const { engine, membership } = deps;
    const { clock, work } = engine.deps;
    this.#deps = deps;
    this.#receipts = new Receipts({ store: engine.store, clock, work });
    this.inbound = new InboundCalls({ ...deps, receipts: this.#receipts });
    membership.local.setCalls(membership.id, 'workflows', this.inbound);
    this.#ownership = membership.shards.onChange(({ gained }) => {
      if (gained.length === 0) return;
      this.#tenure = Symbol('here');
      this.#readReceipts();
    });
    this.#readReceipts();
  }

  /** Takes over the removal of receipts from former owners. A single host leaves no receipts. */
  #readReceipts(): void {
    const { engine, membership } = this.#deps;
    if (membership.shards.isShared) void this.#receipts.readAll((id) => engine.owns(id));
  }

  /**
   * Does work where the instance is: here, at its owner, or through the store, with a receipt if the owner may have done
   * it. Keeps the order of all that this host is asked for at one instance.
   */
  async do(id: string, work: InstanceWork, throughStore: ThroughStore): Promise<void> {
    const { engine, membership } = this.#deps;
    let line = this.#lines.get(id);
    // Alone, it keeps what it owns.
    if (line === undefined && !membership.shards.isShared && engine.owns(id)) return void (await throughStore());
    line ??= new InstanceLine((events) => this.#sendTogether(id, events));
    this.#lines.set(id, line);
    line.enter();
    const task = { line, id, work, throughStore, length: id.length + lengthOf(work) };
    try {
      await (this.#isHere(task) ? line.direct(this.#doHere(task)) : this.#doElsewhere(task));
    } finally {
      if (line.leave()) this.#lines.delete(id);
    }
  }

  /** Whether the work can be done here beside earlier work, which is done here, too. */
  #isHere({ line, id }: Task): boolean {
    if (!this.#deps.engine.owns(id) || (line.way !== undefined && line.way !== this.#tenure)) return false;
    line.way = this.#tenure;
    return true;
  }

  async #doHere(task: Task): Promise<void> {
    const { id, work, throughStore } = task;
    const { earlier } = task.line;
    if (work.type === 'start') await throughStore();
    else if (!(await sendHere(this.#deps.engine, id, work))) await this.#redo(task, earlier);
  }

  async #doElsewhere(task: Task): Promise<void> {
    const { line, work, throughStore, length } = task;
    const lane = await line.begin(() => this.#laneFor(task));
    if (lane !== undefined) return line.direct(this.#forward(lane, task));
    return line.pass(work.type === 'start' ? { start: throughStore } : { event: work }, length);
  }

  /** The lane to the owner, unless the work must go through the store. */
  async #laneFor({ line, id, length }: Task): Promise<HostLane | undefined> {
    const isBehind = line.way !== THROUGH_STORE && (await this.#isBehind(id));
    const lane = this.#laneOf(id);
    const isFree = line.way === UNDECIDED || line.way === lane;
    line.way = lane === undefined || isBehind || !isFree || length > MAX_LENGTH ? THROUGH_STORE : lane;
    return line.way === lane ? lane : undefined;
  }

  async #forward(lane: HostLane, task: Task): Promise<void> {
    const { id, work, length } = task;
    const { engine } = this.#deps;
    const { earlier } = task.line;
    const key = engine.deps.newId();
    const askedAt = dualNow(engine.deps.clock);
    const done = engine.deps.work.begin('call to another host');
    try {
      const outcome = await lane.send({ key, instanceId: id, work }, length);
      if (outcome.is === DONE.is) return;
      if (outcome.is === 'refused') throw errorOf(outcome);
      if (outcome.is === 'not-done') return await this.#redo(task, earlier);
      if (msSince(askedAt, engine.deps.clock) > MAX_DOUBT_MS)
        throw new Error('another host may have done it, and has not said so');
      const receipt = engine.store.layout.receipt(id, key);
      await this.#redo(task, earlier, receipt);
      this.#receipts.add(key, receipt);
    } finally {
      done();
    }
  }

  #redo({ line, id, throughStore }: Task, earlier: Promise<unknown> | undefined, receipt?: string): Promise<void> {
    return line.redo(async () => this.#noteBehind(id, await throughStore(receipt)), earlier);
  }

  async #sendTogether(id: string, events: readonly Sending[]): Promise<void> {
    this.#noteBehind(id, await sendTogether(this.#deps.engine, id, events));
  }

  #noteBehind(id: string, inboxKey: string | undefined | void): void {
    if (typeof inboxKey === 'string') this.#behind.set(id, inboxKey);
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
    local.setCalls(id, 'workflows', undefined);
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
    const lane = new HostLane(peer, this.#deps.engine.deps.clock);
    this.#lanes.set(hostId, lane);
    return lane;
  }

  /** A host of this process is called directly; any other at its address. */
  #peerOf(hostId: string, address: string | undefined): HostPeer | undefined {
    const { engine, membership, identity, own } = this.#deps;
    const local = membership.local.callsOf(hostId, 'workflows');
    if (local instanceof InboundCalls) return local;
    if (address === undefined || !/^https?:/i.test(address) || !URL.canParse(address)) return undefined;
    const { logger, wire } = engine.deps;
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
