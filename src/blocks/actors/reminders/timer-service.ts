import { DueIndex } from '../../../kernel/due-index.ts';
import { DuePump } from '../../../kernel/due-pump.ts';
import type { StoredJob } from '../../../timed/job.ts';
import type { PlannedJob } from '../../../timed/planning/if-exists.ts';
import type { Schedule } from '../../../timed/planning/schedule.ts';
import { afterAttempt } from '../../../timed/planning/transition.ts';
import { type Place, Places } from '../../../timed/running/places.ts';
import { CancelSource } from '../../../util/cancel-token.ts';
import type { Clock } from '../../../util/clock.ts';
import type { Logger } from '../../../util/logger.ts';
import type { Work } from '../../../util/work.ts';
import type { Wire } from '../../../wire.ts';
import { logged } from '../../failure.ts';
import { type ActorAddress, actorPart } from '../model/address.ts';
import type { ActorTurns, TickOutcome } from '../model/tick.ts';
import type { TimerFields } from './fields.ts';
import { malformedTick, TickParser } from './parse-tick.ts';
import { Periods } from './period.ts';
import { planTick, type RefuseTick } from './plan-tick.ts';
import { type TickName, textOf } from './reminder-name.ts';
import { tickBody } from './render-tick.ts';
import { runInTurn } from './run-in-turn.ts';

/** The dependencies of {@link TimerService}. */
export interface TimerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly work: Work;
  readonly wire: Wire;
  readonly turns: ActorTurns;
  /** Max ticks that run at the same time. */
  readonly concurrency: number;
}

/** A timer that is to begin. */
export interface PlannedTimer extends PlannedJob {
  readonly name: TickName;
  readonly callback: string;
}

/** A timer, until it is replaced or removed. */
interface Timer {
  readonly name: TickName;
  readonly schedule: Schedule | undefined;
  readonly body: Buffer;
  /** Cancels a tick that waits for its turn. */
  readonly cancel: CancelSource;
}

/** A timer that waits for its next tick. */
interface DueTimer {
  readonly id: string;
  readonly at: number;
  readonly timer: Timer;
  readonly job: StoredJob;
}

/** The number of entries is of no meaning: all of them are in memory. */
const PAGE_SIZE = 1;

/** Timers of the actors that are active at this host, in memory. Each ends with its actor's deactivation. */
export class TimerService {
  readonly #deps: TimerDeps;
  readonly #periods = new Periods();
  /** By actor and name. */
  readonly #timers = new Map<string, Map<string, Timer>>();
  readonly #due = new DueIndex<DueTimer>({
    idOf: ({ id }) => id,
    readAfter: () => Promise.resolve({ entries: [], isLast: true }),
    isWanted: () => true,
    pageSize: PAGE_SIZE,
  });
  readonly #pump: DuePump<DueTimer>;
  readonly #places: Places;
  readonly #parser: TickParser;

  constructor(deps: TimerDeps) {
    this.#deps = deps;
    this.#parser = new TickParser(deps.wire);
    this.#places = new Places(deps.concurrency, () => this.#pump.pump());
    this.#pump = new DuePump({
      clock: deps.clock,
      index: this.#due,
      trackRead: () => () => undefined,
      hasRoom: () => this.#places.hasFree,
      begin: (due, now) => this.#begin(due, now),
      onFailure: (error) => deps.logger.error({ error }, 'timers of actors stand still'),
    });
    deps.turns.onDeactivated((address) => this.#deactivated(address));
  }

  /**
   * Sets a timer of an actor of this host, which becomes active. It replaces one of that name.
   *
   * @throws SidecarError `ERR_MALFORMED_REQUEST`; the error of {@link ActorTurns.activate} if the actor is elsewhere.
   */
  set(name: TickName, fields: TimerFields): void {
    this.begin(this.plan(name, fields));
  }

  /** Decides when a timer is due. @throws SidecarError `ERR_MALFORMED_REQUEST` */
  plan(name: TickName, fields: TimerFields): PlannedTimer {
    const refuse: RefuseTick = (problem, field, cause) =>
      malformedTick('timer', problem, { argument: `options.${field}`, cause });
    const now = Math.floor(this.#deps.clock.now());
    const { callback = '' } = fields;
    return { name, callback, ...planTick(textOf(name), fields, { periods: this.#periods, now, refuse }) };
  }

  /** Sets a timer that was planned. @throws the error of {@link ActorTurns.activate} if the actor is elsewhere */
  begin({ name, callback, job, at }: PlannedTimer): void {
    this.#deps.turns.activate(name);
    this.delete(name);
    const id = textOf(name);
    const { data } = job;
    const schedule = job.schedule === undefined ? undefined : this.#periods.getStored(job.schedule);
    const timer = { name, schedule, body: tickBody(job, data, callback), cancel: new CancelSource() };
    const part = actorPart(name);
    const ofActor = this.#timers.get(part) ?? new Map<string, Timer>();
    this.#timers.set(part, ofActor.set(name.name, timer));
    // No attempt is repeated.
    this.#wait({ id, at, timer, job: { ...job, data: undefined, policy: { drop: {} } } });
  }

  /** Sets a timer by the body of a request. @throws as {@link TimerService.set} */
  setFrom(name: TickName, body: Buffer): void {
    this.set(name, this.#parser.timer(body));
  }

  /** Deletes a timer; answers whether there was one. A tick in flight ends, and none begins any more. */
  delete({ name, ...address }: TickName): boolean {
    const part = actorPart(address);
    const ofActor = this.#timers.get(part);
    const timer = ofActor?.get(name);
    if (ofActor === undefined || timer === undefined) return false;
    ofActor.delete(name);
    if (ofActor.size === 0) this.#timers.delete(part);
    this.#end(timer);
    return true;
  }

  /** The number of timers. */
  get size(): number {
    let size = 0;
    for (const ofActor of this.#timers.values()) size += ofActor.size;
    return size;
  }

  /** No tick begins any more. */
  stop(): void {
    this.#pump.stop();
    for (const ofActor of this.#timers.values()) for (const timer of ofActor.values()) this.#end(timer);
    this.#timers.clear();
  }

  #deactivated(address: ActorAddress): void {
    const part = actorPart(address);
    const ofActor = this.#timers.get(part);
    this.#timers.delete(part);
    for (const timer of ofActor?.values() ?? []) this.#end(timer);
  }

  #end({ name, cancel }: Timer): void {
    this.#due.remove(textOf(name));
    cancel.abort(new Error('the timer has ended'));
  }

  #wait(due: DueTimer): void {
    this.#due.pin(due);
    this.#pump.pump();
  }

  #isPresent({ name }: Timer, timer: Timer): boolean {
    return this.#timers.get(actorPart(name))?.get(name.name) === timer;
  }

  #begin(due: DueTimer, now: number): void {
    const place = this.#places.take();
    const done = this.#deps.work.begin(`timer ${due.timer.name.name} of an actor`);
    void this.#run(due, now, place).finally(() => {
      place.end();
      done();
      this.#pump.pump();
    });
  }

  async #run({ id, timer, job }: DueTimer, now: number, place: Place): Promise<void> {
    if (isOver(job, now)) return void this.delete(timer.name);
    let startedAt: number | undefined;
    const begins = (): boolean => {
      place.retake();
      startedAt = this.#deps.clock.now();
      return this.#isPresent(timer, timer) && !isOver(job, startedAt);
    };
    const { name, ...address } = timer.name;
    const at = { dueAt: job.tickAt, attempt: 1 };
    const tick = { kind: 'timer', name, body: timer.body, ...at, cancel: timer.cancel, begins } as const;
    this.#ended({ id, timer, job }, await runInTurn(this.#deps.turns, address, tick, place), startedAt ?? now);
  }

  /** Whatever has become of a tick, the next one comes. */
  #ended({ id, timer, job }: Omit<DueTimer, 'at'>, outcome: TickOutcome, startedAt: number): void {
    const { clock, logger } = this.#deps;
    if (outcome.kind === 'failed')
      logger.warn({ timer: timer.name.name, ...addressOf(timer.name), ...logged(outcome) }, 'a tick of a timer failed');
    if (!this.#isPresent(timer, timer)) return;
    if (outcome.kind === 'done' && outcome.isCanceled) return void this.delete(timer.name);
    const rules = { everyTick: false, maxCrashes: 0, keepFailedMs: 0, isFinal: false, random: () => 0 };
    const { schedule } = timer;
    const next = afterAttempt(job, { outcome: 'done', startedAt, now: clock.now(), schedule, ...rules });
    if (next.kind === 'gone' || next.job.ended) return void this.delete(timer.name);
    this.#wait({ id, timer, job: next.job, at: next.at });
  }
}

function isOver({ expiresAt }: StoredJob, now: number): boolean {
  return expiresAt !== undefined && now > expiresAt;
}

function addressOf({ actorType, actorId }: TickName): ActorAddress {
  return { actorType, actorId };
}
