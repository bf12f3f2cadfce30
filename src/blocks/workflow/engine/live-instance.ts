import { CancelSource, type CancelToken } from '../../../util/cancel-token.ts';
import { Deque } from '../../../util/deque.ts';
import { isAction } from '../model/event-table.ts';
import type { ActionEvent, HistoryEvent } from '../model/events.ts';
import { CanceledError, TOO_LARGE } from '../model/failure.ts';
import { type InstanceView, isFinished } from '../model/instance.ts';
import type { Core } from '../replay/core.ts';
import { childrenOf, descendantsOf } from '../storage/descendants.ts';
import type { Stored } from '../storage/instance-store.ts';
import type { InstanceRecord } from '../storage/record.ts';
import { viewOf } from '../storage/render-instance.ts';
import type { TurnResult } from '../storage/turn-plan.ts';
import type { EngineServices } from './engine-services.ts';
import type { InstanceListener } from './instance-listener.ts';
import { Restraint } from './restraint.ts';
import { commitTurn, type Written } from './turn-commit.ts';
import { type IntakeMessage, TurnIntake } from './turn-intake.ts';
import { endOfTurn } from './turn-result.ts';

const NONE: readonly never[] = [];
/** Max events in a history. Code that never ends must continue as new. */
const MAX_HISTORY_EVENTS = 100_000;

/** The dependencies of a {@link LiveInstance}. */
export interface LiveInstanceDeps {
  readonly services: EngineServices;
  readonly listener: InstanceListener;
  /** Creates a run of an instance's code. */
  readonly coreOf: (record: InstanceRecord, instance: LiveInstance) => Core;
}

/**
 * An instance in memory. Processes its messages in turns, one at a time. Each turn commits its incoming events, the
 * code's actions and the new state together; only after that commit are results visible and actions started.
 */
export class LiveInstance {
  readonly #services: EngineServices;
  readonly #listener: InstanceListener;
  readonly #coreOf: LiveInstanceDeps['coreOf'];
  readonly #queue = new Deque<IntakeMessage>();
  #core: Core;
  #stored: Stored | undefined;
  #record: InstanceRecord;
  #cancellation: CancelSource | undefined;
  #leftFor: unknown;
  /** The number of its running activities. */
  running = 0;
  /** The inbox keys of messages that it has not processed. */
  readonly dropped: string[] = [];
  #isTurning = false;
  #isGone = false;
  readonly restraint: Restraint = new Restraint();

  /** @param stored - the stored record and its version; `undefined` for a new instance */
  constructor({ services, listener, coreOf }: LiveInstanceDeps, record: InstanceRecord, stored: Stored | undefined) {
    this.#services = services;
    this.#listener = listener;
    this.#coreOf = coreOf;
    this.#record = record;
    this.#stored = stored;
    this.#core = coreOf(record, this);
  }

  get id(): string {
    return this.#record.instanceId;
  }

  get hasBegun(): boolean {
    return this.#core.hasBegun;
  }

  /** The record as stored; for a new instance, its initial record. */
  get record(): InstanceRecord {
    return this.#record;
  }

  get core(): Core {
    return this.#core;
  }

  /** Cancels activities whose results are no longer needed. */
  get cancellation(): CancelToken {
    if (this.#cancellation === undefined) {
      this.#cancellation = new CancelSource();
      if (this.#isGone) this.#cancellation.abort(this.#leftFor);
    }
    return this.#cancellation;
  }

  /** The view that the store would return; `undefined` when the input is not in memory. */
  get view(): InstanceView | undefined {
    const { hasInput, input, outcome } = this.#core;
    return hasInput && outcome?.kind !== 'continued' ? viewOf(this.#record, input) : undefined;
  }

  /** Whether it only waits for outside messages or timers. */
  get isIdle(): boolean {
    return !this.#isTurning && this.#queue.length === 0 && this.#core.activityCount === 0;
  }

  /** Whether its code runs, or has run in a turn that is not kept so far. */
  get isTurning(): boolean {
    return this.#isTurning;
  }

  /** Whether activities may start. */
  get mayBegin(): boolean {
    return !this.#isGone && this.restraint.mayBegin && !this.#core.isSuspended;
  }

  /** Takes no turn until what may be stored for it has been delivered: it may have been ended, or paused. */
  hold(): void {
    this.restraint.isHeld = true;
  }

  /** It has what was stored for it. */
  release(): void {
    this.restraint.isHeld = false;
    this.#services.activities.resume(this);
    this.wake();
  }

  /**
   * Another host takes over: starts nothing new. Resolves when nothing is in flight, or with `false` when it stays
   * after all.
   */
  resign(): Promise<boolean> {
    this.#services.activities.handOver(this);
    return new Promise((resolve) => {
      this.restraint.resign(resolve);
      this.checkQuiet();
    });
  }

  /** No other host has taken over: goes on. */
  stay(): void {
    this.restraint.stays();
    // Messages that came for it meanwhile were left to the other host.
    if (this.#services.isBehind(this.id)) this.hold();
    else this.release();
  }

  /** Something of it has ended: perhaps that was the last. */
  checkQuiet(): void {
    if (this.#isGone || (!this.#isTurning && this.running === 0 && this.#queue.length === 0)) this.restraint.left();
  }

  get isPaused(): boolean {
    return this.#core.isSuspended;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** The instant of its start or next timer. */
  get nextAt(): number | undefined {
    if (isFinished(this.#record.status)) return undefined;
    return this.#core.hasBegun || this.#core.isSuspended ? this.#core.nextTimerAt : this.#record.startAt;
  }

  post(message: IntakeMessage): void {
    if (this.#isGone) return void message.done?.(new Error('the instance is no longer in memory'));
    this.restraint.queued(message);
    this.#queue.push(message);
    this.#request();
  }

  /** Requests a turn if the instance has work. */
  wake(): void {
    if (this.#hasWork) this.#request();
  }

  /** Leaves memory: rejects its waiting messages. Returns the inbox keys of those that are stored. */
  leave(reason: unknown): readonly string[] {
    const left: string[] = [];
    if (this.#isGone) return left;
    this.#isGone = true;
    this.#leftFor = reason;
    this.#cancellation?.abort(reason);
    // Hanging activities must not block a stop.
    this.#services.inFlight.remove(this.running);
    for (let message = this.#queue.shift(); message !== undefined; message = this.#queue.shift()) {
      if (message.entry !== undefined) left.push(message.entry.key);
      this.#drop(message, reason);
    }
    this.restraint.left();
    return left;
  }

  #drop(message: IntakeMessage, reason: unknown): void {
    if (message.entry !== undefined) {
      this.#listener.onRelease(message.entry.key);
      this.dropped.push(message.entry.key);
    }
    message.done?.(reason);
  }

  get #hasWork(): boolean {
    if (this.#queue.length > 0) return true;
    if (this.#services.isStopping || this.restraint.isResigning || isFinished(this.#record.status)) return false;
    const at = this.nextAt;
    return this.#core.outcome !== undefined || (at !== undefined && at <= this.#services.now);
  }

  #request(): void {
    if (this.#isTurning || this.#isGone || this.restraint.isHeld) return;
    this.#isTurning = true;
    this.#services.inFlight.add();
    this.#services.turns.push(this);
  }

  async turn(): Promise<void> {
    try {
      if (!this.#isGone && !this.restraint.isHeld) {
        const intake = new TurnIntake(this.#core, this.#record, this.#queue, this.#services.now);
        for (let running = intake.next(); running !== undefined; running = intake.next()) await running;
        const ending = this.#core.endTurn();
        if (ending !== undefined) await ending;
        const committing = this.#commit(intake);
        if (committing !== undefined) await committing;
        this.restraint.taken(intake.messages);
      }
    } catch (error) {
      this.#listener.onTurnFailure(this, error);
    }
    this.#isTurning = false;
    if (!this.#isGone) {
      this.#services.activities.resume(this);
      if (this.#hasWork) this.#request();
      else this.#listener.onRest(this);
      this.checkQuiet();
    }
    this.#services.turns.ended();
    this.#services.inFlight.remove();
  }

  /** `undefined` if there is nothing to commit. */
  #commit(intake: TurnIntake): Promise<void> | undefined {
    const { messages } = intake;
    const actions = this.#takeActions(intake);
    if (!this.#isNothing(intake, actions)) return this.#write(intake, actions);
    for (const message of messages) message.done?.();
    return undefined;
  }

  async #write(intake: TurnIntake, actions: readonly ActionEvent[]): Promise<void> {
    const { messages } = intake;
    try {
      const orphans = this.#leavesOrphans ? await descendantsOf(this.#services.store, this.id) : NONE;
      const canceled = await this.#childrenToCancel();
      const end = endOfTurn(this.#services, {
        intake,
        actions,
        orphans,
        canceled,
        core: this.#core,
        record: this.#record,
      });
      const turn = { record: this.#record, stored: this.#stored, end, messages, instance: this };
      const running = this.#follow(await commitTurn(this.#services, turn), end, messages);
      if (running !== undefined) await running;
    } catch (error) {
      for (const message of messages) this.#drop(message, error);
      throw error;
    }
  }

  /** Whether this turn terminates the instance, and with it its descendants. */
  get #leavesOrphans(): boolean {
    const { hasChildren, status } = this.#record;
    return hasChildren && !isFinished(status) && this.#core.outcome?.kind === 'terminated';
  }

  /** If this turn cancels the instance: its children, also those of earlier runs. */
  async #childrenToCancel(): Promise<readonly string[]> {
    const given = this.#core.canceledChildren;
    if (given === undefined) return NONE;
    if (!this.#record.hasChildren) return given;
    const stored = await childrenOf(this.#services.store, this.id);
    return [...new Set([...given, ...stored.map(({ record }) => record.instanceId)])];
  }

  /** Whether the turn has nothing to commit: its messages came too late. */
  #isNothing({ messages, events }: TurnIntake, actions: readonly ActionEvent[]): boolean {
    if (events.length > 0 || actions.length > 0) return false;
    if (this.#core.outcome !== undefined && !isFinished(this.#record.status)) return false;
    return messages.every(({ entry, begun }) => entry === undefined && begun === undefined);
  }

  #takeActions({ events }: TurnIntake): readonly ActionEvent[] {
    const actions = this.#core.takeActions();
    const length = this.#record.events + events.length + actions.length;
    if (length <= MAX_HISTORY_EVENTS || isFinished(this.#record.status)) return actions;
    const message = `its history would have more than ${MAX_HISTORY_EVENTS} events: continue as new from time to time`;
    this.#core.abandon({ errorType: 'HistoryLimitError', message });
    return [];
  }

  /** The turn is committed: starts its actions. */
  #follow(
    { plan, version, recordVersion }: Written,
    end: TurnResult,
    messages: readonly IntakeMessage[],
  ): Promise<void> | undefined {
    const before = this.#record;
    this.#record = plan.record;
    this.#stored = { record: plan.record, version: recordVersion };
    for (const message of messages) {
      if (message.entry !== undefined) this.#listener.onRelease(message.entry.key);
      message.done?.();
    }
    if (this.#core.takeCanceled()) {
      this.#cancellation?.abort(new CanceledError());
      // Activities that the code calls from now on are not canceled.
      this.#cancellation = undefined;
    }
    const [failures, lost] = [this.#core.takeFailures(), this.#core.takeLost()];
    this.#listener.onTurn(this, { plan, version, end, before, failures, lost });
    const hasEnded = isFinished(this.#record.status);
    // A turn that could not be written has failed the instance instead.
    if (end.outcome?.kind === 'continued' && !hasEnded) return this.#renew(end.nextEvents, end.now);
    if (end.outcome?.kind !== 'terminated') this.#runActivities(end.events);
    if (hasEnded && this.#core.activityCount === 0) this.#listener.onEnd(this);
    return undefined;
  }

  #runActivities(events: readonly HistoryEvent[]): void {
    for (const event of events) {
      if (event.type !== 'activityScheduled') continue;
      const activity = this.#core.activity(event.sequence);
      if (activity !== undefined) this.#services.activities.run(this, activity);
    }
  }

  /** Starts the next run. */
  async #renew(events: readonly HistoryEvent[], now: number): Promise<void> {
    this.#core = this.#coreOf(this.#record, this);
    for (const event of events) if (!isAction(event)) await this.#core.apply(event, now);
  }

  /** Fails the instance because its turn cannot be committed. */
  abandon(message: string): void {
    this.#core.abandon({ errorType: TOO_LARGE, message });
  }
}
