import { type ActorAddress, actorPart } from '../../src/blocks/actors/model/address.ts';
import type { ActorTick, ActorTurns, TickOutcome } from '../../src/blocks/actors/model/tick.ts';
import type { ReminderFields } from '../../src/blocks/actors/reminders/fields.ts';
import type { TickName } from '../../src/blocks/actors/reminders/reminder-name.ts';
import { ReminderService } from '../../src/blocks/actors/reminders/reminder-service.ts';
import { TimerService } from '../../src/blocks/actors/reminders/timer-service.ts';
import type { Membership } from '../../src/cluster/membership.ts';
import type { Duration } from '../../src/index.ts';
import { Work } from '../../src/util/work.ts';
import { wireNames } from '../../src/wire.ts';
import { patientClock } from './clock.ts';
import { timeOf } from './jobs-world.ts';
import { KeptStore } from './kept-store.ts';
import { RecordingLogger } from './logger.ts';

export const START = Date.parse('2026-01-01T00:00:00Z');

/** A call, as the actor saw it. */
export interface SeenTick {
  readonly what: string;
  readonly at: string;
}

/** Actors whose turns the test ends: reminders and timers alone, without the application that has the actors. */
export class ReminderWorld implements ActorTurns, AsyncDisposable {
  readonly clock = patientClock({ startAt: START });
  readonly logger = new RecordingLogger();
  readonly work = new Work();
  readonly store: KeptStore;
  readonly seen: SeenTick[] = [];
  readonly bodies: string[] = [];
  readonly active = new Set<string>();
  /** What an actor does with a tick. */
  tick: (address: ActorAddress, tick: ActorTick) => TickOutcome | Promise<TickOutcome> = () => DONE;
  /** Whether the application is there. */
  isPresent = true;
  reminders: ReminderService;
  timers: TimerService;
  readonly #lines = new Map<string, Promise<unknown>>();
  #runnable: () => void = () => undefined;
  #deactivated: (address: ActorAddress) => void = () => undefined;
  readonly #everyTick: boolean;

  constructor({ store = new KeptStore(), everyTick = false } = {}) {
    this.store = store;
    this.#everyTick = everyTick;
    this.clock.watch(this.work);
    [this.reminders, this.timers] = this.#make();
  }

  #make(): [ReminderService, TimerService] {
    const { clock, logger, work } = this;
    const own = { appId: 'shop', newId: () => crypto.randomUUID(), gracePeriodMs: 1_000, random: () => 0.5 };
    const deps = {
      ...own,
      wire: wireNames('sidecar'),
      ...{ clock, logger, work, turns: this, concurrency: 100, maxCrashes: 3 },
    };
    return [new ReminderService({ ...deps, everyTick: this.#everyTick }), new TimerService(deps)];
  }

  async start(): Promise<this> {
    const store = await this.store.open();
    // Only what reminders use of it: the store, of which this host has all shards.
    await this.reminders.open({ store, shards: undefined } as unknown as Membership);
    this.reminders.start(false);
    await this.clock.settled();
    return this;
  }

  /** As when the process ends and another one begins, some time later. */
  async restart(later: Duration): Promise<void> {
    await this.reminders.stop();
    this.timers.stop();
    await this.clock.advance(later);
    [this.reminders, this.timers] = this.#make();
    await this.start();
  }

  async pass(by: Duration): Promise<void> {
    await this.clock.advance(by);
    await this.clock.settled();
  }

  set(name: string, fields: Partial<ReminderFields> = {}): Promise<void> {
    return this.reminders.set(nameOf(name), { overwrite: true, ...fields });
  }

  /** The instants of the calls, as times of day. */
  get times(): readonly string[] {
    return this.seen.map(({ at }) => at.slice(11));
  }

  /** Takes the turn of an actor, as a call does; the result gives it back. */
  hold(actor: string): () => void {
    let leave = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      leave = resolve;
    });
    void this.#queue(actorPart(nameOf(`${actor}/-`)), () => held);
    return leave;
  }

  async #queue<T>(part: string, turn: () => T | Promise<T>): Promise<T> {
    const before = this.#lines.get(part);
    const mine = (async () => {
      await before;
      return turn();
    })();
    this.#lines.set(part, mine);
    return mine;
  }

  runTurn = (address: ActorAddress, tick: ActorTick): Promise<TickOutcome> => {
    const turn = async (): Promise<TickOutcome> => {
      if (tick.cancel.aborted) return { kind: 'brokenOff', reason: 'cancelled' };
      if (!(await tick.begins())) return { kind: 'brokenOff', reason: 'not wanted' };
      if (!this.isPresent) return { kind: 'undelivered', reason: 'nobody listens' };
      this.seen.push({ what: `${address.actorId}/${tick.name}`, at: timeOf(this.clock.now()) });
      this.bodies.push(Buffer.from(tick.body).toString());
      return this.tick(address, tick);
    };
    return this.#queue(actorPart(address), turn);
  };

  canRun(): boolean {
    return this.isPresent;
  }

  hosts(): boolean {
    return true;
  }

  activate(address: ActorAddress): void {
    this.active.add(address.actorId);
  }

  deactivate(actorId: string): void {
    this.active.delete(actorId);
    this.#deactivated({ actorType: 'Cart', actorId });
  }

  onDeactivated(listener: (address: ActorAddress) => void): void {
    this.#deactivated = listener;
  }

  onRunnable(listener: () => void): void {
    this.#runnable = listener;
  }

  /** The application comes or goes. */
  setPresent(isPresent: boolean): void {
    this.isPresent = isPresent;
    if (isPresent) this.#runnable();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.reminders.stop();
    this.timers.stop();
  }
}

export const DONE: TickOutcome = { kind: 'done', isCanceled: false };
export const FAILED: TickOutcome = { kind: 'failed', reason: 'out of order' };

/** `alice/expire`: the reminder of a cart. */
export function nameOf(text: string): TickName {
  const [actorId = '', name = ''] = text.split('/');
  return { actorType: 'Cart', actorId, name };
}
