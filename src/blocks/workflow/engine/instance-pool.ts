import { outside } from '../../../util/outside.ts';
import type { Registry } from '../authoring/registry.ts';
import type { IncomingEvent } from '../model/events.ts';
import { NOT_REGISTERED } from '../model/failure.ts';
import { type InstanceWaits, isFinished, type WorkflowMissingCode } from '../model/instance.ts';
import type { Payload } from '../model/payload.ts';
import { Core } from '../replay/core.ts';
import type { Program } from '../replay/execution.ts';
import { Drain } from '../replay/microtask-drain.ts';
import type { BegunAttempts, CrashCounts } from '../storage/begun-attempts.ts';
import type { InstanceStore, Stored } from '../storage/instance-store.ts';
import type { InstanceRecord } from '../storage/record.ts';
import type { InstanceUnderWay } from './crash-report.ts';
import type { DueInstances } from './due-instances.ts';
import type { EngineServices } from './engine-services.ts';
import type { InstanceListener } from './instance-listener.ts';
import { LiveInstance, type LiveInstanceDeps } from './live-instance.ts';
import type { WaitingForCode } from './waiting-for-code.ts';

/** The reason why an instance is not in memory: unknown ID, finished, or unregistered code. */
export type Absent = 'missing' | 'finished' | 'no-code';

/** The dependencies of an {@link InstancePool}. */
export interface PoolDeps {
  readonly services: EngineServices;
  readonly listener: InstanceListener;
  readonly store: InstanceStore;
  readonly registry: Registry;
  readonly begun: BegunAttempts;
  readonly due: DueInstances;
  readonly waiting: WaitingForCode;
}

/** The instances in memory. When too many are idle, evicts the one that has been idle longest. */
export class InstancePool {
  readonly #deps: PoolDeps;
  readonly #instanceDeps: LiveInstanceDeps;
  readonly #drain = new Drain();
  readonly #live = new Map<string, LiveInstance>();
  readonly #loading = new Map<string, Promise<LiveInstance | Absent>>();
  /** Instances without code whose parents are loaded first. */
  readonly #behindParent = new Set<string>();
  /** Ordered by the time at which they became idle. */
  readonly #idle = new Map<string, LiveInstance>();

  constructor(deps: PoolDeps) {
    this.#deps = deps;
    const { services, listener } = deps;
    this.#instanceDeps = { services, listener, coreOf: (record, instance) => this.#coreOf(record, instance) };
  }

  get(id: string): LiveInstance | undefined {
    return this.#live.get(id);
  }

  has(id: string): boolean {
    return this.#live.has(id);
  }

  get size(): number {
    return this.#live.size;
  }

  all(): readonly LiveInstance[] {
    return [...this.#live.values()];
  }

  /** The instances that are replayed, or take their turns. */
  underWay(): readonly InstanceUnderWay[] {
    const turning = this.all().filter(({ isTurning }) => isTurning);
    const loading = [...this.#loading.keys()].map((instanceId) => ({ instanceId }));
    return [...turning.map(({ id, record }) => ({ instanceId: id, workflowName: record.name })), ...loading];
  }

  /** Adds a new instance. Its first turn stores it. */
  add(record: InstanceRecord): LiveInstance {
    return this.#keep(record, undefined);
  }

  /** Adds a child instance that its parent's turn has just stored. */
  async adopt(record: InstanceRecord, version: number, input: Payload): Promise<LiveInstance | undefined> {
    const present = this.#live.get(record.instanceId);
    if (present !== undefined && !isFinished(present.record.status)) return undefined;
    // Activities of the previous instance with this ID may still run.
    if (present !== undefined) this.remove(present, new Error('the ID of the instance is used again'));
    if (!this.hasCode(record.name)) {
      const found = this.#withoutCode({ record, version });
      return typeof found === 'object' ? found : undefined;
    }
    const instance = this.#keep(record, { record, version });
    await instance.core.apply({ type: 'started', input }, record.createdAt);
    return instance;
  }

  #keep(record: InstanceRecord, stored: Stored | undefined): LiveInstance {
    const instance = new LiveInstance(this.#instanceDeps, record, stored);
    this.#live.set(record.instanceId, instance);
    return instance;
  }

  /** Creates a run of an instance's code. */
  #coreOf({ instanceId, executionId, name, rerunOf, chunks }: InstanceRecord, instance: LiveInstance): Core {
    const { registry, services } = this.#deps;
    // The code of a new instance may come until it begins. One that is loaded to be ended lacks its history.
    const program = registry.program(name) ?? lateProgram(name, chunks === 0 ? registry : undefined);
    const { logger } = services.deps;
    const drain = this.#drain;
    return new Core({
      drain,
      isRerun: rerunOf !== undefined,
      instanceId,
      executionId,
      workflowName: name,
      program,
      logger,
      // During its replay, it has no turns yet: it is woken at the end.
      onStray: () => {
        if (this.#live.get(instanceId) === instance) instance.wake();
      },
    });
  }

  /** Returns an instance; reads and replays it if it is not in memory. */
  load(id: string): Promise<LiveInstance | Absent> {
    const live = this.#live.get(id);
    if (live !== undefined) return Promise.resolve(live);
    let loading = this.#loading.get(id);
    if (loading === undefined) {
      const done = this.#deps.services.deps.work.begin('reading of a workflow');
      // Several callers may wait for it: it runs in the context of none.
      loading = outside(() => this.#read(id)).finally(() => {
        done();
        this.#loading.delete(id);
      });
      this.#loading.set(id, loading);
    }
    return loading;
  }

  /** Like `load`, for an event: an instance with unregistered code accepts only its termination. */
  loadFor(id: string, event: IncomingEvent | undefined): Promise<LiveInstance | Absent> {
    const loading = this.load(id);
    if (event?.type !== 'terminated' || this.#live.has(id)) return loading;
    return loading.then((found) => (found === 'no-code' ? this.#loadWithoutCode(id) : found));
  }

  async #read(id: string): Promise<LiveInstance | Absent> {
    const stored = await this.#deps.store.read(id);
    if (stored === undefined) return 'missing';
    const { record } = stored;
    // Due time 0: the instance finished while activities were still open.
    if (isFinished(record.status) && record.dueAt !== 0) return 'finished';
    if (!this.hasCode(record.name)) await this.#loadParent(record);
    if (!this.hasCode(record.name)) return this.#withoutCode(stored);
    const instance = new LiveInstance(this.#instanceDeps, record, stored);
    await this.#replay(instance);
    const counts = await this.#countsOf(instance);
    if (instance.core.activityCount > 0) await this.#deps.services.offers.readOf(id);
    // A finished instance keeps its result, even if its code has changed.
    if (isFinished(record.status) && (instance.core.outcome === undefined || instance.core.isNonDeterministic))
      return 'finished';
    const other = this.#live.get(id);
    if (other !== undefined) return other;
    // The shard was lost during the read: nothing would hand the instance over.
    if (!this.#deps.services.owns(id)) return 'no-code';
    if (this.#waitsForNewerCode(instance)) return 'no-code';
    this.#live.set(id, instance);
    if (this.#deps.services.isBehind(id)) instance.hold();
    // It may have a timer but no earlier work.
    this.#deps.due.set(id, instance.nextAt);
    for (const activity of instance.core.activities())
      this.#deps.services.activities.run(instance, activity, counts && (counts.get(activity.sequence) ?? 0));
    instance.wake();
    return instance;
  }

  /** How often the process ended during the attempts that it has open; `undefined` if that is not counted. */
  async #countsOf({ core, id, record }: LiveInstance): Promise<CrashCounts | undefined> {
    const { services, begun } = this.#deps;
    if (services.deps.maxCrashes === 0 || core.activityCount === 0) return undefined;
    return begun.read(id, record.executionId);
  }

  /** Newer code has written its history, or the instance is offered to a host that has such code: this one may take it. */
  #waitsForNewerCode({ id, core: { unknownPatch, outcome }, record }: LiveInstance): boolean {
    const { waiting } = this.#deps;
    if (isFinished(record.status)) return false;
    const reason = outcome?.kind === 'failed' ? outcome.failure.message : undefined;
    if (unknownPatch !== undefined) return waiting.waitsFor(id, { kind: 'patch', name: unknownPatch }, reason);
    waiting.found(id);
    return waiting.standIns.isOffered(id);
  }

  /** Whether the code that is registered here has written the history of an instance, or could have. */
  async fits(id: string): Promise<boolean> {
    const stored = await this.#deps.store.read(id);
    if (stored === undefined || !this.hasCode(stored.record.name)) return false;
    const { record } = stored;
    const instance = new LiveInstance(this.#instanceDeps, record, stored);
    await this.#replay(instance);
    return !instance.core.isNonDeterministic;
  }

  /** A parent that calls a child by its definition registers it when it is replayed. Nothing else might load it. */
  async #loadParent({ instanceId, parent, status }: InstanceRecord): Promise<void> {
    const { services, listener } = this.#deps;
    if (parent === undefined || isFinished(status) || !services.owns(parent.instanceId)) return;
    // IDs are used again: a parent that waits for its own parent may wait for this child.
    if (this.#live.has(parent.instanceId) || this.#behindParent.has(parent.instanceId)) return;
    this.#behindParent.add(instanceId);
    await this.load(parent.instanceId).finally(() => this.#behindParent.delete(instanceId));
    const live = this.#live.get(parent.instanceId);
    if (live?.isIdle === true) listener.onRest(live);
  }

  async #replay({ core, id, record }: LiveInstance): Promise<void> {
    for await (const turn of this.#deps.store.turns(id)) {
      if (core.isNonDeterministic) break;
      await core.replay(turn);
    }
    core.endReplay(isFinished(record.status));
  }

  /** Unregistered code: the instance waits. After the timeout, it is added to the pool and fails. */
  #withoutCode({ record, version }: Stored): LiveInstance | 'no-code' {
    const { waiting } = this.#deps;
    const { instanceId, name, status } = record;
    if (isFinished(status) || waiting.waitsFor(instanceId, { kind: 'workflow', name })) return 'no-code';
    const live = this.#live.get(instanceId);
    if (live !== undefined) return live;
    const instance = this.#keep(record, { record, version });
    instance.core.abandon(waiting.failureOf(name));
    instance.wake();
    return instance;
  }

  /** Loads an instance with unregistered code, without its history: it can only be ended. */
  async #loadWithoutCode(id: string): Promise<LiveInstance | Absent> {
    const { services, store } = this.#deps;
    const stored = await store.read(id);
    await services.offers.readOf(id);
    const live = this.#live.get(id);
    if (live !== undefined) return live;
    if (stored === undefined) return 'missing';
    if (isFinished(stored.record.status)) return 'finished';
    return services.owns(id) ? this.#keep(stored.record, stored) : 'no-code';
  }

  /** Whether the code of a workflow is registered. */
  hasCode(name: string): boolean {
    return this.#deps.registry.program(name) !== undefined;
  }

  /** The events, and the unregistered code, that an instance of this host waits for. */
  waitsOf(record: InstanceRecord): InstanceWaits {
    const missingCode = this.#missingCodeOf(record);
    const events = this.#live.get(record.instanceId)?.core.eventNames;
    return events === undefined
      ? { missingCode }
      : { missingCode, awaitedEvents: events.awaited, unreadEvents: events.unread };
  }

  #missingCodeOf({ instanceId, name, status }: InstanceRecord): readonly WorkflowMissingCode[] {
    const { services, waiting } = this.#deps;
    const live = this.#live.get(instanceId);
    if (live !== undefined) return missingActivities(services, live);
    if (isFinished(status)) return [];
    // It may not have been loaded: it waits for an event.
    return services.owns(instanceId) && !this.hasCode(name)
      ? [{ kind: 'workflow', name }]
      : [...waiting.needsOf(instanceId), ...services.offers.needsOf(instanceId)];
  }

  /** An instance has no work now: updates its due time, and evicts an idle instance if there are too many. */
  resting(instance: LiveInstance): void {
    const { due, services } = this.#deps;
    due.set(instance.id, instance.nextAt);
    this.#idle.delete(instance.id);
    if (!instance.isIdle) return;
    this.#idle.set(instance.id, instance);
    if (this.#idle.size > services.deps.maxIdleInstances) this.#letGoOne();
  }

  #letGoOne(): void {
    for (const instance of this.#idle.values()) {
      this.#idle.delete(instance.id);
      // It has got work since.
      if (!instance.isIdle) continue;
      this.remove(instance, new Error('the instance is not in memory'));
      this.#deps.due.sleep(instance.id, instance.record.dueAt);
      return;
    }
  }

  /** Removes an instance from memory. Returns the inbox keys of its unprocessed messages. */
  remove(instance: LiveInstance, reason: unknown): readonly string[] {
    if (this.#live.get(instance.id) === instance) {
      this.#live.delete(instance.id);
      this.#idle.delete(instance.id);
      // If the instance was never stored, the due entry belongs to another instance with the same ID.
      if (instance.record.chunks > 0) this.#deps.due.remove(instance.id);
    }
    this.#deps.services.activities.forget(instance);
    return instance.leave(reason);
  }
}

function missingActivities({ activities }: EngineServices, live: LiveInstance): readonly WorkflowMissingCode[] {
  return activities.missingOf(live).map((name) => ({ kind: 'activity', name }));
}

/** Program of an unregistered workflow: fails, unless the code is there when it begins. */
function lateProgram(name: string, registry: Registry | undefined): Program {
  const message = `workflow ${JSON.stringify(name)} is not registered: register it before the sidecar starts`;
  return (execution) => {
    const program = registry?.program(name);
    if (program === undefined) execution.fail({ errorType: NOT_REGISTERED, message });
    else program(execution);
  };
}
