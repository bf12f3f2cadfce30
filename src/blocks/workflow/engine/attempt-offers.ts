import type { ShardHosts } from '../../../cluster/shards.ts';
import type { Change } from '../../../kernel/commit-batcher.ts';
import { Offers } from '../../../kernel/offers.ts';
import type { OwnedItems, StandIns } from '../../../kernel/stand-ins.ts';
import { Damages } from '../../../state/damages.ts';
import type { StateStore } from '../../../state/store.ts';
import type { Registry } from '../authoring/registry.ts';
import { CanceledError } from '../model/failure.ts';
import { isFinished, type WorkflowMissingCode } from '../model/instance.ts';
import { attemptInputPuts } from '../storage/attempt-inputs.ts';
import type { InstanceStore } from '../storage/instance-store.ts';
import type { InstanceRecord } from '../storage/record.ts';
import type { Outgoing } from '../storage/turn-plan.ts';
import { type ActivityAttempt, isGivenUp } from './activity-crashes.ts';
import type { ActivityRunner } from './activity-runner.ts';
import type { InFlightCounter } from './in-flight-counter.ts';
import type { LiveInstance } from './live-instance.ts';
import { type OfferedActivity, TakenAttempts } from './taken-attempts.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** The dependencies of {@link AttemptOffers}. */
export interface AttemptOffersDeps
  extends Pick<
    WorkflowsDeps,
    'clock' | 'logger' | 'random' | 'newId' | 'work' | 'maxCrashes' | 'maxConcurrentActivities'
  > {
  readonly state: StateStore;
  readonly store: InstanceStore;
  readonly hosts: ShardHosts;
  readonly owned: Pick<OwnedItems, 'isShared' | 'hasPeers'>;
  /** Which instances this host runs. */
  readonly instances: Pick<OwnedItems, 'owns' | 'fence' | 'isFenced'>;
  readonly registry: Registry;
  readonly inFlight: InFlightCounter;
  readonly activities: () => ActivityRunner;
  readonly onResult: (message: Outgoing, version: number) => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Attempts of activities whose code the host of their instance lacks: hosts that have it make them. The result of one
 * is a message to the instance, written with the entry that then says that it is made. The entry goes with the turn that
 * no longer waits for the attempt: so as long as one is there, only a host that has taken it makes the attempt.
 */
export class AttemptOffers {
  readonly #deps: AttemptOffersDeps;
  readonly #offers: Offers<OfferedActivity>;
  /** Most hosts never take any. */
  #taken: TakenAttempts | undefined;
  /** The attempts of instances in memory here that wait for code, or are with another host. */
  readonly #waiting = new Map<string, ActivityAttempt>();
  /** The offers that are known, by instance. */
  readonly #byInstance = new Map<string, Set<string>>();
  #watch: Disposable | undefined;

  constructor(deps: AttemptOffersDeps) {
    const { state, store, owned, instances, logger, maxCrashes, registry } = deps;
    const { layout } = store;
    this.#deps = deps;
    const of = (id: string): string => layout.attemptOf(id)?.instanceId ?? '';
    this.#offers = new Offers<OfferedActivity>({
      ...deps,
      ...{ store: state, range: layout.attemptRange, what: 'activities' },
      owned: {
        ...{ owns: (id) => instances.owns(of(id)), fence: (id) => instances.fence(of(id)) },
        isFenced: (error) => instances.isFenced(error),
        get isShared() {
          return owned.isShared;
        },
        get hasPeers() {
          return owned.hasPeers;
        },
      },
      write: (change: Change) => store.write(change),
      keyOf: (id) => layout.attempt(id),
      idOf: (key) => key.slice(layout.attemptRange.from.length),
      besides: (id) => this.#keysBeside(id),
      damages: new Damages(logger, 'which host runs an activity cannot be read: the host of its workflow does'),
      offer: (id) => this.#offer(id),
      // Without activities there is nothing to take.
      mayMiss: () => registry.hasActivities,
      fits: (id, { needs: [offered] }) => offered !== undefined && this.#canRun(id, offered),
      hasRoom: (taking) => this.#hasRoom(taking),
      renewed: (needs) => (maxCrashes === 0 ? needs : needs.map(interrupted)),
      onMoved: (id) => this.#moved(id),
    });
  }

  #makeTaken(): TakenAttempts {
    const { store, activities } = this.#deps;
    return new TakenAttempts({
      ...this.#deps,
      run: (attempt) => activities().runTaken(attempt),
      finish: (id, message) => this.standIns.finish(id, [store.messagePut(message.key, message)]),
      onLeft: () => this.#offers.roomChanged(),
    });
  }

  get standIns(): StandIns<OfferedActivity> {
    return this.#offers.standIns;
  }

  /** Follows what other hosts offer. */
  start(watch: (prefix: string, onChange: (keys: readonly string[]) => void) => void): void {
    const { hosts, activities } = this.#deps;
    this.#offers.start(watch);
    this.#watch = hosts.onChange(() => {
      const taken = this.standIns.needsOfTaken();
      activities().hostsChanged(taken.map(({ name }) => name));
    });
  }

  /** Reads what other hosts offer, and looks at all of it. */
  read(): Promise<void> {
    return this.#offers.read();
  }

  /** Reads what is offered of an instance, before this host goes on with it. */
  async readOf(instanceId: string): Promise<void> {
    const { owned, store } = this.#deps;
    if (!owned.isShared) return;
    await this.standIns.read(store.layout.attemptsOf(instanceId), () => [...this.#idsOf(instanceId)]);
  }

  #idsOf(instanceId: string): Iterable<string> {
    return this.#byInstance.get(instanceId) ?? [];
  }

  #idOf({ instance, executionId, activity: { sequence } }: ActivityAttempt): string {
    return this.#deps.store.layout.attemptId(instance.id, executionId, sequence);
  }

  /** What an attempt of an instance of this host has become by its offer; `undefined` if it has not been offered. */
  found(attempt: ActivityAttempt): ActivityAttempt | undefined {
    if (!this.standIns.hasAny || attempt.isTaken) return undefined;
    const offered = this.standIns.of(this.#idOf(attempt))?.needs[0];
    return offered && { ...attempt, crashes: offered.crashes, isRepeated: offered.isRepeated };
  }

  /** Whether another host makes an attempt, or has made it. */
  isElsewhere(attempt: ActivityAttempt): boolean {
    if (!this.standIns.hasAny) return false;
    const standIn = this.standIns.of(this.#idOf(attempt));
    return standIn !== undefined && (standIn.isDone || standIn.hostId !== undefined);
  }

  /** An attempt waits for code, or for the host that has it. */
  waits(attempt: ActivityAttempt): void {
    const id = this.#idOf(attempt);
    this.#waiting.set(id, attempt);
    if (this.standIns.of(id) === undefined) this.#offers.lacks(id);
    else this.#offers.lookAt(id);
  }

  /** An attempt waits no more. */
  waitsNoMore(attempt: ActivityAttempt): void {
    if (this.#waiting.size === 0) return;
    const id = this.#idOf(attempt);
    if (this.#waiting.delete(id)) this.#offers.found(id);
  }

  async #offer(id: string): Promise<void> {
    const { instances, activities, store } = this.#deps;
    const attempt = this.#waiting.get(id);
    if (attempt === undefined || this.standIns.of(id) !== undefined || !instances.owns(attempt.instance.id)) return;
    if (!isWanted(attempt) || !attempt.instance.mayBegin) return activities().tryAgain(attempt.instance);
    const put = attemptInputPuts(store.layout.attemptInput(id), attempt.activity.input);
    await this.standIns.offer(id, [offerOf(attempt)], { put });
    // A turn has given it up meanwhile.
    if (!isWanted(attempt)) await this.standIns.end(id);
  }

  #canRun(id: string, { name, crashes, isRepeated }: OfferedActivity): boolean {
    const { registry, maxCrashes } = this.#deps;
    if (crashes !== undefined && isGivenUp(crashes, isRepeated, maxCrashes)) return false;
    return registry.activityOf(name) !== undefined || this.#waiting.get(id)?.activity.run !== undefined;
  }

  /** One at a time in any case: a host whose own activities never leave room must not hold up those of others. */
  #hasRoom(taking: number): boolean {
    const { maxConcurrentActivities: most, activities } = this.#deps;
    const taken = (this.#taken?.size ?? 0) + taking;
    return taken === 0 || (taken < most && activities().busyCount + taking < most);
  }

  /** Activities have ended: there may be room for more. */
  roomChanged(): void {
    this.#offers.roomChanged();
  }

  #moved(id: string): void {
    const { hosts, activities, store } = this.#deps;
    const fields = store.layout.attemptOf(id);
    // What is no attempt holds up nothing.
    if (fields === undefined) return;
    const standIn = this.standIns.of(id);
    this.#index(fields.instanceId, id, standIn !== undefined);
    const offered = standIn?.needs[0];
    const attempt = this.#waiting.get(id);
    const isHere = standIn?.hostId === hosts.id;
    if (isHere && offered !== undefined) {
      this.#taken ??= this.#makeTaken();
      this.#taken.begin(id, fields, offered, attempt?.activity.run);
    } else if (standIn?.isDone !== true)
      this.#taken?.giveUp(id, standIn === undefined ? new CanceledError() : undefined);
    if (attempt === undefined || standIn?.isDone === true) return;
    if (standIn?.hostId !== undefined) activities().isElsewhere(attempt.activity.name);
    else if (standIn === undefined || offered?.isRepeated === true) activities().tryAgain(attempt.instance);
  }

  #index(instanceId: string, id: string, isThere: boolean): void {
    const own = this.#byInstance.get(instanceId);
    if (isThere) this.#byInstance.set(instanceId, (own ?? new Set()).add(id));
    else if (own?.delete(id) === true && own.size === 0) this.#byInstance.delete(instanceId);
  }

  #keysBeside(id: string): readonly string[] {
    const { layout } = this.#deps.store;
    const fields = layout.attemptOf(id);
    const begun = fields === undefined ? [] : [layout.begun(fields.instanceId, fields.sequence)];
    return [layout.attemptInput(id), ...begun];
  }

  /** The offers of an instance that a turn no longer waits for. */
  #closedOf({ id, core }: LiveInstance, after: InstanceRecord): readonly string[] {
    if (this.#byInstance.size === 0) return NONE;
    const hasEnded = isFinished(after.status) && after.dueAt !== 0;
    return [...this.#idsOf(id)].filter((one) => {
      const fields = this.#deps.store.layout.attemptOf(one);
      if (fields === undefined || hasEnded) return hasEnded;
      return fields.executionId !== after.executionId || !core.isOpen(fields.sequence);
    });
  }

  /** What the commit of a turn is to delete. */
  keysOfClosed(instance: LiveInstance, after: InstanceRecord): readonly string[] {
    const closed = this.#closedOf(instance, after);
    return closed.length === 0 ? NONE : closed.flatMap((id) => this.standIns.keysOf(id));
  }

  /** A turn was committed. */
  onTurn(instance: LiveInstance, after: InstanceRecord): void {
    if (this.#byInstance.size === 0) return;
    for (const id of this.#closedOf(instance, after)) {
      this.#waiting.delete(id);
      this.standIns.ended(id);
    }
    if (instance.isPaused) for (const id of this.#idsOf(instance.id)) this.#withdraw(id);
  }

  /** The instance of an attempt is paused: no host begins it. If one has, it goes on. */
  withdraw(attempt: ActivityAttempt): void {
    if (this.standIns.hasAny) this.#withdraw(this.#idOf(attempt));
  }

  #withdraw(id: string): void {
    const { work, onFailure } = this.#deps;
    if (!this.standIns.isOffered(id)) return;
    const done = work.begin('taking the offer of an activity back');
    this.standIns.end(id).catch(onFailure).finally(done);
  }

  /** The activities that an instance of another host waits for. */
  needsOf(instanceId: string): readonly WorkflowMissingCode[] {
    if (this.#byInstance.size === 0) return NONE;
    const offered = [...this.#idsOf(instanceId)].filter((id) => this.standIns.isOffered(id));
    const names = new Set(offered.flatMap((id) => this.standIns.of(id)?.needs[0]?.name ?? []));
    return [...names].map((name) => ({ kind: 'activity', name }));
  }

  /** Code was registered. */
  codeChanged(): void {
    this.#offers.codeChanged();
  }

  async #giveAllBack(ids: readonly string[]): Promise<void> {
    const { work, onFailure } = this.#deps;
    const done = work.begin('giving activities of other hosts back');
    await Promise.all(ids.map((id) => this.#giveBack(id).catch(onFailure)));
    done();
  }

  async #giveBack(id: string): Promise<void> {
    const standIn = this.standIns.of(id);
    try {
      if (standIn !== undefined && this.standIns.isHere(id)) await this.standIns.offer(id, standIn.needs);
    } finally {
      this.#taken?.giveUp(id, STOPS);
    }
  }

  /** The code of an attempt that this host has taken is gone. */
  lost(attempt: ActivityAttempt): void {
    void this.#giveAllBack([this.#idOf(attempt)]);
  }

  /** Takes none any more, and gives back what has not begun. */
  stop(): void {
    this.#offers.stop();
    this.#watch?.[Symbol.dispose]();
    void this.#giveAllBack(this.#taken?.stop() ?? []);
  }

  /** Gives back what has not ended. */
  close(): Promise<void> {
    return this.#giveAllBack(this.#taken?.ids() ?? []);
  }
}

const NONE: readonly never[] = [];
const STOPS = new Error('the sidecar is stopping');

function offerOf({ instance, activity, crashes, isRepeated }: ActivityAttempt): OfferedActivity {
  const { name, activityId, attempt, timeoutMs } = activity;
  return { kind: 'activity', name, activityId, attempt, timeoutMs, trace: instance.record.trace, crashes, isRepeated };
}

/** The host that made an attempt has gone. */
function interrupted(offered: OfferedActivity): OfferedActivity {
  return { ...offered, crashes: (offered.crashes ?? 0) + 1, isRepeated: true };
}

/** Whether its run goes on and has not given it up. */
export function isWanted({ instance, executionId, activity }: ActivityAttempt): boolean {
  return instance.record.executionId === executionId && instance.core.isOpen(activity.sequence);
}
