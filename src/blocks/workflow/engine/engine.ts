import type { Shards } from '../../../cluster/shards.ts';
import { isApiError } from '../../../errors.ts';
import { DuePump } from '../../../kernel/due-pump.ts';
import { OwnedShards } from '../../../kernel/owned-shards.ts';
import { READ_RETRY_MS, ReadRetry } from '../../../kernel/read-retry.ts';
import { isConflictError } from '../../../state/errors.ts';
import type { Precondition, StateStore } from '../../../state/store.ts';
import { Work } from '../../../util/work.ts';
import type { Registry } from '../authoring/registry.ts';
import { type InstanceView, isFinished, type WorkflowStatus } from '../model/instance.ts';
import { BegunAttempts } from '../storage/begun-attempts.ts';
import { InstanceStore } from '../storage/instance-store.ts';
import type { WorkflowLayout } from '../storage/layout.ts';
import { removeExpired } from '../storage/remove-expired.ts';
import { ActivityCrashes } from './activity-crashes.ts';
import { ActivityRunner } from './activity-runner.ts';
import { AttemptOffers } from './attempt-offers.ts';
import { reportCrashes } from './crash-report.ts';
import { Deliveries } from './deliveries.ts';
import { type DueInstance, DueInstances } from './due-instances.ts';
import { emitTurn } from './emit-events.ts';
import type { EngineServices } from './engine-services.ts';
import { InFlightCounter } from './in-flight-counter.ts';
import type { Inbox } from './inbox.ts';
import type { CommittedTurn, InstanceListener } from './instance-listener.ts';
import { type Absent, InstancePool } from './instance-pool.ts';
import type { LiveInstance } from './live-instance.ts';
import { ShardMoves, TAKEN_OVER } from './shard-moves.ts';
import { TurnQueue } from './turn-queue.ts';
import { WaitingForCode } from './waiting-for-code.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** The dependencies of an {@link Engine}. */
export interface EngineDeps {
  readonly state: StateStore;
  readonly shards: Shards;
  readonly layout: WorkflowLayout;
  readonly registry: Registry;
  readonly deps: WorkflowsDeps;
  /** The status of an instance may have changed. `view` returns its state if that needs no read of the store. */
  readonly onStatus: (id: string, view?: () => InstanceView | undefined, status?: WorkflowStatus) => void;
}

/** Created once: with its stack trace, an error costs as much as the rest of ending an instance. */
const ENDED = new Error('the workflow has ended');
/** Max due instances loaded at the same time. */
const MAX_LOADING = 256;

/** Loads instances when they are due or get a message, and commits their turns. */
export class Engine implements EngineServices, InstanceListener {
  readonly deps: WorkflowsDeps;
  readonly store: InstanceStore;
  readonly turns: TurnQueue;
  readonly inFlight: InFlightCounter;
  readonly activities: ActivityRunner;
  readonly offers: AttemptOffers;
  readonly pool: InstancePool;
  readonly inbox: Inbox;
  readonly #deliveries: Deliveries;
  readonly #layout: WorkflowLayout;
  readonly #onStatus: EngineDeps['onStatus'];
  /** That of the sidecar. */
  readonly #allWork: WorkflowsDeps['work'];
  readonly #owned: OwnedShards;
  readonly #due: DueInstances;
  readonly #pump: DuePump<DueInstance>;
  readonly #retry: ReadRetry;
  readonly #waiting: WaitingForCode;
  readonly #work = new Work();
  readonly #crashReport: Disposable;
  #isStopping = false;
  #isAtRest = false;
  /** The number of due instances being loaded. */
  #loading = 0;

  constructor({ deps, state, shards, layout, registry, onStatus }: EngineDeps) {
    const { logger, clock } = deps;
    this.#layout = layout;
    this.#onStatus = onStatus;
    this.#allWork = deps.work;
    this.#owned = new OwnedShards(shards);
    this.deps = { ...deps, work: { begin: (what) => this.#begin(what) } };
    this.store = new InstanceStore(state, layout, logger);
    this.turns = new TurnQueue(this.deps.maxConcurrentWorkflows);
    this.inFlight = new InFlightCounter(this.deps.work, () => this.activities.running());
    const begun = new BegunAttempts(state, layout, logger);
    const crashes = new ActivityCrashes({
      ...this.deps,
      store: this.store,
      begun,
      fence: (id) => this.fence(id),
      isFenced: (error) => this.#waiting.standIns.isFenced(error),
    });
    this.#due = new DueInstances(this.store, (id) => this.owns(id) && !this.pool.has(id));
    this.#waiting = new WaitingForCode({
      ...this.deps,
      ...{ state, shards, layout, registry, owned: this.#owned, pool: () => this.pool },
      write: (change) => this.store.write(change),
      onMoved: (id) => this.#moved(id),
      onOverdue: () => this.#readAll(),
      onFailure: (error) => this.#retry.failed(error),
    });
    const waiting = this.#waiting;
    this.offers = this.#makeOffers({ state, shards, registry });
    this.activities = new ActivityRunner(this.deps, {
      ...{ registry, crashes, inFlight: this.inFlight, offers: this.offers },
      hasPeers: () => this.#owned.hasPeers,
      limits: {
        ...{ ...this.deps, store: state, hosts: shards.hosts, owned: this.#owned },
        prefix: layout.limitPrefix,
      },
    });
    this.pool = new InstancePool({
      services: this,
      listener: this,
      store: this.store,
      begun,
      registry,
      due: this.#due,
      waiting,
    });
    this.#retry = new ReadRetry({ ...deps, what: 'workflows', readAnew: () => this.#readAll() });
    this.#pump = new DuePump({
      clock,
      index: this.#due,
      trackRead: () => this.deps.work.begin('reading workflows that are due'),
      hasRoom: () => this.#loading < MAX_LOADING,
      begin: ({ id }) => void this.#loadDue(id),
      onFailure: (error) => this.#retry.failed(error),
    });
    this.#deliveries = new Deliveries({
      ...{ services: this, pool: this.pool, prepare: () => this.#readOffers() },
      onFailure: (error) => this.#retry.failed(error),
    });
    this.inbox = this.#deliveries.inbox;
    this.#crashReport = reportCrashes({ logger, underWay: () => this.pool.underWay() });
  }

  #makeOffers({ state, shards, registry }: Pick<EngineDeps, 'state' | 'shards' | 'registry'>): AttemptOffers {
    return new AttemptOffers({
      ...this.deps,
      ...{ state, registry, hosts: shards.hosts, store: this.store, inFlight: this.inFlight },
      ...{ owned: this.#owned, instances: this.#waiting.standIns },
      activities: () => this.activities,
      onResult: (message, version) => this.#deliveries.send(message, version),
      onFailure: (error) => this.#retry.failed(error),
    });
  }

  /** Reads which instances and activities other hosts run, before this host goes on with those of shards that it has got. */
  async #readOffers(): Promise<void> {
    await this.#waiting.read();
    await this.offers.read();
  }

  /** Whether instances are stored, but none goes on. */
  get isAtRest(): boolean {
    return this.#isAtRest;
  }

  /** Starts to load due instances and to deliver messages. At rest, instances are loaded for calls only. */
  start(isAtRest: boolean): void {
    this.#isAtRest = isAtRest;
    if (isAtRest) return this.#pump.stop();
    this.#owned.watch(this.#layout.inboxPrefix, (keys) => void this.inbox.changed(keys));
    // This host may own the shard again by the time an instance is released: then nothing else would reload it.
    const moves = new ShardMoves({
      ...{ owned: this.#owned, pool: this.pool },
      isStandIn: (id) => this.#waiting.standIns.isHere(id),
      onReleased: (id) => void this.#wake(id),
    });
    this.#waiting.start();
    this.offers.start((prefix, listener) => this.#owned.watch(prefix, listener));
    this.#owned.onChange((change) => {
      if (change.gained.size > 0 && !this.#isStopping) {
        // First: from now on, what is stored for these instances comes before anything that they begin.
        this.#readAll();
        moves.takeBack(change);
      }
      if (change.lost.size > 0) moves.handOver(change.lost);
    });
    this.#readAll();
  }

  /** Counts work for the sidecar and for the stop of this block. */
  #begin(what: Parameters<Work['begin']>[0]): () => void {
    const done = this.#work.begin(what);
    const doneForAll = this.#allWork.begin(what);
    return () => {
      done();
      doneForAll();
    };
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  get now(): number {
    return Math.floor(this.deps.clock.now());
  }

  fence(id: string): Precondition | undefined {
    return this.#waiting.standIns.fence(id);
  }

  /** Whether this host owns an instance. */
  owns(id: string): boolean {
    return this.#waiting.standIns.owns(id);
  }

  isBehind(id: string): boolean {
    return this.inbox.isBehind(id);
  }

  isActive(id: string): boolean {
    const instance = this.pool.get(id);
    return instance !== undefined && !isFinished(instance.record.status);
  }

  onTurn(instance: LiveInstance, followed: CommittedTurn): void {
    const { plan, version } = followed;
    this.offers.onTurn(instance, plan.record);
    emitTurn(this.deps, followed);
    for (const { record, input } of plan.children)
      if (this.owns(record.instanceId)) void this.pool.adopt(record, version, input).then((child) => child?.wake());
    for (const outgoing of plan.outgoing) this.#deliveries.send(outgoing, version);
    const { instanceId, status } = plan.record;
    if (status !== followed.before.status) this.#onStatus(instanceId, () => instance.view, status);
  }

  onRelease(inboxKey: string): void {
    this.inbox.release(inboxKey);
  }

  onRest(instance: LiveInstance): void {
    this.pool.resting(instance);
    this.#pump.setAlarm();
  }

  onEnd(instance: LiveInstance): void {
    const left = this.pool.remove(instance, ENDED);
    if (left.length > 0) this.store.commit({ delete: left }).catch((error: unknown) => this.#retry.failed(error));
    this.#due.sleep(instance.id, instance.record.dueAt);
    this.#pump.setAlarm();
    this.#waiting.ended(instance.id);
  }

  /** A turn failed: removes the instance from memory, and reloads it if this host still owns it. */
  onTurnFailure(instance: LiveInstance, error: unknown): void {
    const { id, record, dropped } = instance;
    this.pool.remove(instance, error);
    if (this.#isStopping) return;
    this.inbox.left(dropped);
    const again = (): void => void this.#wake(id).then(() => this.inbox.again(dropped));
    // The commit may have succeeded nevertheless: read the store again to deliver its messages.
    const isFenced = this.#waiting.standIns.isFenced(error);
    if (!isApiError(error) && !isFenced) this.#retry.plan();
    this.#onStatus(id);
    // It was never stored. Another one with the same ID may be: it was not scheduled meanwhile.
    if (record.chunks === 0) return again();
    // A message was taken after it was read: by an earlier turn, or by the former owner.
    const isTaken = isConflictError(error) && error.key.startsWith(this.#layout.inboxPrefix);
    if (!isFenced && !isTaken)
      this.deps.logger.error({ instanceId: id, error }, 'the turn of a workflow failed: it is read again');
    this.deps.clock.setTimeout(again, isConflictError(error) ? 0 : READ_RETRY_MS);
  }

  /** Code was registered: resumes the instances that waited for it. */
  codeChanged(): void {
    this.activities.codeChanged();
    this.offers.codeChanged();
    if (this.#waiting.codeChanged() && !this.#isStopping) this.#readAll();
  }

  #readAll(): void {
    this.#pump.readAnew();
    const done = this.deps.work.begin('reading messages of workflows');
    void this.inbox.readAll().finally(done);
  }

  /** Wakes an instance; loads it first if it is not in memory. */
  async #wake(id: string): Promise<void> {
    if (this.#isStopping || !this.owns(id)) return;
    const live = this.pool.get(id);
    if (live !== undefined) return live.wake();
    try {
      this.#onLoaded(id, await this.pool.load(id));
    } catch (error) {
      this.#retry.failed(error);
    }
  }

  async #loadDue(id: string): Promise<void> {
    if (this.pool.has(id)) return this.#wake(id);
    this.#loading++;
    await this.#wake(id);
    this.#loading--;
    if (this.#loading === MAX_LOADING - 1) this.#pump.pump();
  }

  #onLoaded(id: string, found: LiveInstance | Absent): void {
    if (typeof found === 'object') {
      found.wake();
      this.#pump.setAlarm();
      return;
    }
    if (found !== 'no-code') this.#waiting.ended(id);
    if (found === 'finished') void removeExpired(this, id).catch((error: unknown) => this.#retry.failed(error));
  }

  /** Another host may run an instance now, or this one again. */
  #moved(id: string): void {
    const live = this.pool.get(id);
    const isHere = this.owns(id) && !this.#waiting.standIns.isOffered(id);
    if (live !== undefined && !isHere) this.pool.remove(live, TAKEN_OVER);
    this.#onStatus(id);
    if (!isHere || this.#isStopping) return;
    const done = this.deps.work.begin('going on with a workflow of another host');
    const delivered = this.inbox.takeOver(id);
    void this.#wake(id)
      .then(() => delivered)
      .finally(done);
  }

  /** Accepts no new work, waits for turns and activities in flight, as hand-overs do, and forgets all instances. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#pump.stop();
    this.#retry.stop();
    this.activities.stop();
    this.#waiting.stop();
    this.offers.stop();
    await this.#work.idle(this.deps.clock, this.deps.gracePeriodMs);
    await this.offers.close();
    this.#owned.stop();
    this.#crashReport[Symbol.dispose]();
    for (const instance of this.pool.all()) this.pool.remove(instance, new Error('the sidecar is stopping'));
    await this.activities.close();
  }
}
