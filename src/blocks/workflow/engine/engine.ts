import type { Shards } from '../../../cluster/shards.ts';
import { isSidecarError } from '../../../errors.ts';
import { DuePump } from '../../../kernel/due-pump.ts';
import { OwnedShards } from '../../../kernel/owned-shards.ts';
import { READ_RETRY_MS, ReadRetry } from '../../../kernel/read-retry.ts';
import { isConflict } from '../../../state/errors.ts';
import type { Precondition, StateStore } from '../../../state/store.ts';
import { Work } from '../../../util/work.ts';
import type { Registry } from '../authoring/registry.ts';
import { type InstanceView, isFinished, type WorkflowStatus } from '../model/instance.ts';
import type { Core } from '../replay/core.ts';
import { BegunAttempts } from '../storage/begun-attempts.ts';
import { InstanceStore } from '../storage/instance-store.ts';
import type { WorkflowLayout } from '../storage/layout.ts';
import type { InstanceRecord } from '../storage/record.ts';
import { removeExpired } from '../storage/remove-expired.ts';
import type { Outgoing } from '../storage/turn-plan.ts';
import { ActivityCrashes } from './activity-crashes.ts';
import { ActivityRunner } from './activity-runner.ts';
import { reportCrashes } from './crash-report.ts';
import { type DueInstance, DueInstances } from './due-instances.ts';
import { emitTurn } from './emit-events.ts';
import type { EngineServices, Followed } from './engine-services.ts';
import { InFlightCounter } from './in-flight-counter.ts';
import { Inbox } from './inbox.ts';
import { type Absent, InstancePool } from './instance-pool.ts';
import type { LiveInstance } from './live-instance.ts';
import { MissingNames } from './missing-names.ts';
import { ShardMoves } from './shard-moves.ts';
import type { Message } from './turn-intake.ts';
import { TurnQueue } from './turn-queue.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** The dependencies of an {@link Engine}. */
export interface EngineDeps {
  readonly state: StateStore;
  readonly shards: Shards;
  readonly layout: WorkflowLayout;
  readonly registry: Registry;
  readonly host: WorkflowsDeps;
  /** The status of an instance may have changed. `view` returns its state if that needs no read of the store. */
  readonly onStatus: (id: string, view?: () => InstanceView | undefined, status?: WorkflowStatus) => void;
}

/** Created once: with its stack trace, an error costs as much as the rest of ending an instance. */
const ENDED = new Error('the workflow has ended');
/** Max due instances loaded at the same time. */
const MAX_LOADING = 256;

/** Loads instances when they are due or get a message, and commits their turns. */
export class Engine implements EngineServices {
  readonly host: WorkflowsDeps;
  readonly store: InstanceStore;
  readonly turns: TurnQueue;
  readonly inFlight: InFlightCounter;
  readonly activities: ActivityRunner;
  readonly pool: InstancePool;
  readonly inbox: Inbox;
  readonly #deps: EngineDeps;
  readonly #owned: OwnedShards;
  readonly #due: DueInstances;
  readonly #pump: DuePump<DueInstance>;
  readonly #retry: ReadRetry;
  /** Unregistered workflows; their instances wait. */
  readonly #missing: MissingNames;
  readonly #work = new Work();
  readonly #crashReport: Disposable;
  #isStopping = false;
  /** The number of due instances being loaded. */
  #loading = 0;

  constructor(deps: EngineDeps) {
    const { host, state, shards, layout, registry } = deps;
    this.#deps = deps;
    this.#owned = new OwnedShards(shards);
    this.host = { ...host, work: { begin: (what) => this.#begin(what) } };
    this.store = new InstanceStore(state, layout, host.logger);
    this.turns = new TurnQueue(this.host.maxConcurrentWorkflows);
    this.inFlight = new InFlightCounter(this.host.work, () => this.activities.running());
    const begun = new BegunAttempts(state, layout, host.logger);
    const crashes = new ActivityCrashes({
      host: this.host,
      store: this.store,
      begun,
      fence: (id) => this.fence(id),
      isFenced: (error) => this.#owned.isFenced(error),
    });
    this.activities = new ActivityRunner(this.host, { registry, inFlight: this.inFlight, crashes });
    this.#due = new DueInstances(this.store, (id) => this.owns(id) && !this.pool.has(id));
    this.#missing = new MissingNames({
      kind: 'workflow',
      host,
      isThere: (name) => registry.program(name) !== undefined,
      onOverdue: () => this.#readAll(),
    });
    this.pool = new InstancePool({
      home: this,
      store: this.store,
      begun,
      registry,
      due: this.#due,
      missing: this.#missing,
    });
    this.#retry = new ReadRetry({ ...host, what: 'workflows', readAnew: () => this.#readAll() });
    this.#pump = new DuePump({
      clock: host.clock,
      index: this.#due,
      trackRead: () => this.host.work.begin('reading workflows that are due'),
      hasRoom: () => this.#loading < MAX_LOADING,
      begin: ({ id }) => void this.#lookAtDue(id),
      onFailure: (error) => this.#retry.failed(error),
    });
    this.inbox = new Inbox({
      store: this.store,
      isOurs: (id) => !this.#isStopping && this.owns(id),
      deliver: (id, message) => this.#deliver(id, message),
      onDelivered: (id) => this.#release(id),
      onFailure: (error) => this.#retry.failed(error),
    });
    this.#crashReport = reportCrashes({ logger: host.logger, underWay: () => this.pool.underWay() });
  }

  /** Starts to load due instances and to deliver messages. At rest, instances are loaded for calls only. */
  start(isAtRest: boolean): void {
    if (isAtRest) return this.#pump.stop();
    this.#owned.watch(this.#deps.layout.inboxPrefix, (keys) => void this.inbox.changed(keys));
    // This host may own the shard again by the time an instance is released: then nothing else would reload it.
    const moves = new ShardMoves({ owned: this.#owned, pool: this.pool, onReleased: (id) => void this.#look(id) });
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
    const doneForAll = this.#deps.host.work.begin(what);
    return () => {
      done();
      doneForAll();
    };
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  get now(): number {
    return Math.floor(this.host.clock.now());
  }

  fence(id: string): Precondition | undefined {
    return this.#owned.fence(id);
  }

  /** Whether this host owns an instance. */
  owns(id: string): boolean {
    return this.#owned.owns(id);
  }

  isBehind(id: string): boolean {
    return this.inbox.isBehind(id);
  }

  isActive(id: string): boolean {
    const instance = this.pool.get(id);
    return instance !== undefined && !isFinished(instance.record.status);
  }

  coreOf(record: InstanceRecord, instance: LiveInstance): Core {
    return this.pool.coreOf(record, instance);
  }

  follow(instance: LiveInstance, followed: Followed): void {
    const { plan, version } = followed;
    emitTurn(this.host, followed);
    for (const { record, input } of plan.children)
      if (this.owns(record.instanceId)) void this.pool.adopt(record, version, input).then((child) => child?.wake());
    for (const outgoing of plan.outgoing) this.#send(outgoing, version);
    const { instanceId, status } = plan.record;
    if (status !== followed.before.status) this.#deps.onStatus(instanceId, () => instance.view, status);
  }

  /** Delivers a stored message to an instance of this host without reading it again. */
  #send({ to, key, event, executionId, parentId }: Outgoing, version: number): void {
    if (this.#isStopping || !this.owns(to) || !this.inbox.take(key)) return;
    const done = this.host.work.begin('message to a workflow');
    this.#deliver(to, { event, executionId, parentId, entry: { key, version } })
      .then(
        (isDelivered) => isDelivered || this.released(key),
        (error: unknown) => {
          this.released(key);
          this.#retry.failed(error);
        },
      )
      .finally(done);
  }

  async #deliver(id: string, message: Message): Promise<boolean> {
    let instance = await this.pool.loadFor(id, message.event);
    // The instance may have left memory meanwhile: reload it, since nothing else would deliver the message.
    while (typeof instance === 'object' && instance.isGone && !this.#isStopping && this.owns(id))
      instance = await this.pool.loadFor(id, message.event);
    if (typeof instance === 'object' && (instance.isGone || this.inbox.hasLeft(id))) return false;
    if (typeof instance === 'object') instance.post(message);
    else if (instance !== 'no-code' && message.entry !== undefined)
      await this.store.commit({ delete: [message.entry.key] });
    return typeof instance === 'object';
  }

  released(inboxKey: string): void {
    this.inbox.release(inboxKey);
  }

  resting(instance: LiveInstance): void {
    this.pool.resting(instance);
    this.#pump.setAlarm();
  }

  ended(instance: LiveInstance): void {
    const left = this.pool.remove(instance, ENDED);
    if (left.length > 0) this.store.commit({ delete: left }).catch((error: unknown) => this.#retry.failed(error));
    this.#due.sleep(instance.id, instance.record.dueAt);
    this.#pump.setAlarm();
  }

  /** A turn failed: removes the instance from memory, and reloads it if this host still owns it. */
  broken(instance: LiveInstance, error: unknown): void {
    const { id, record, dropped } = instance;
    this.pool.remove(instance, error);
    if (this.#isStopping) return;
    this.inbox.left(dropped);
    const again = (): void => void this.#look(id).then(() => this.inbox.again(dropped));
    // The commit may have succeeded nevertheless: read the store again to deliver its messages.
    if (!isSidecarError(error) && !this.#owned.isFenced(error)) this.#retry.plan();
    this.#deps.onStatus(id);
    // It was never stored. Another one with the same ID may be: it was not scheduled meanwhile.
    if (record.chunks === 0) return again();
    // A message was taken after it was read: by an earlier turn, or by the former owner.
    const isTaken = isConflict(error) && error.key.startsWith(this.#deps.layout.inboxPrefix);
    if (!this.#owned.isFenced(error) && !isTaken)
      this.host.logger.error({ instanceId: id, error }, 'the turn of a workflow failed: it is read again');
    this.host.clock.setTimeout(again, isConflict(error) ? 0 : READ_RETRY_MS);
  }

  /** Code was registered: resumes the instances that waited for it. */
  codeChanged(): void {
    this.activities.codeChanged();
    if (this.#missing.codeChanged() && !this.#isStopping) this.#readAll();
  }

  #readAll(): void {
    this.#pump.readAnew();
    const done = this.host.work.begin('reading messages of workflows');
    void this.inbox.readAll().finally(done);
  }

  /** Instances that wait for their stored messages go on when they have been given them. */
  #release(id: string | undefined): void {
    const delivered = id === undefined ? this.pool.all() : [this.pool.get(id)];
    for (const instance of delivered)
      if (instance?.restraint.isHeld === true && !this.inbox.mayHaveMore(instance.id)) instance.release();
  }

  /** Wakes an instance; loads it first if it is not in memory. */
  async #look(id: string): Promise<void> {
    if (this.#isStopping || !this.owns(id)) return;
    const live = this.pool.get(id);
    if (live !== undefined) return live.wake();
    try {
      this.#lookedAt(id, await this.pool.load(id));
    } catch (error) {
      this.#retry.failed(error);
    }
  }

  async #lookAtDue(id: string): Promise<void> {
    if (this.pool.has(id)) return this.#look(id);
    this.#loading++;
    await this.#look(id);
    this.#loading--;
    if (this.#loading === MAX_LOADING - 1) this.#pump.pump();
  }

  #lookedAt(id: string, found: LiveInstance | Absent): void {
    if (typeof found === 'object') {
      found.wake();
      this.#pump.setAlarm();
    } else if (found === 'finished') void removeExpired(this, id).catch((error: unknown) => this.#retry.failed(error));
  }

  /** Accepts no new work, waits for turns and activities in flight, as hand-overs do, and forgets all instances. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#pump.stop();
    this.#retry.stop();
    this.activities.stop();
    this.#missing.stop();
    await this.#work.idle(this.host.clock, this.host.gracePeriodMs);
    this.#owned.stop();
    this.#crashReport[Symbol.dispose]();
    for (const instance of this.pool.all()) this.pool.remove(instance, new Error('the sidecar is stopping'));
  }
}
