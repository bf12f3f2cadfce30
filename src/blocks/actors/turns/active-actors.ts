import type { OwnedChange, OwnedShards } from '../../../kernel/owned-shards.ts';
import { type CancelToken, NEVER, unlessAborted } from '../../../util/cancel-token.ts';
import { type Clock, sleep } from '../../../util/clock.ts';
import type { Logger } from '../../../util/logger.ts';
import { Semaphore } from '../../../util/semaphore.ts';
import type { Work } from '../../../util/work.ts';
import { type ActorAddress, actorPart } from '../model/address.ts';
import type { ActorSettings } from '../model/configuration.ts';
import { ActorMoved } from '../model/errors.ts';
import { ActiveActor } from './active-actor.ts';
import { IdleActors } from './idle-actors.ts';

/** The most deactivations at a time. */
const MAX_CLOSING = 100;

/** The dependencies of {@link ActiveActors}. */
export interface ActiveActorsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly work: Work;
  readonly owned: OwnedShards;
  /** The settings of a type that is hosted here. */
  readonly settingsOf: (actorType: string) => ActorSettings | undefined;
  /** Tells the actor's host that it is inactive. Never rejects. */
  readonly deactivate: (actor: ActiveActor) => Promise<void>;
}

/** What a turn needs to begin. */
export interface TurnEntry {
  readonly chain: string | undefined;
  /** Cancels a turn that waits. */
  readonly cancel: CancelToken;
}

/** The active actors of this host, and their turns. */
export class ActiveActors {
  readonly #deps: ActiveActorsDeps;
  readonly #actors = new Map<string, ActiveActor>();
  readonly #idle: IdleActors;
  readonly #closing = new Semaphore(MAX_CLOSING);
  readonly #listeners = new Set<(address: ActorAddress) => void>();
  #isStopping = false;

  constructor(deps: ActiveActorsDeps) {
    this.#deps = deps;
    this.#idle = new IdleActors(deps.clock, (actor) => void this.#close(actor));
    deps.owned.onChange((change) => this.#onChange(change));
  }

  /** The active actors, those included that are being deactivated. */
  list(): readonly ActiveActor[] {
    return [...this.#actors.values()];
  }

  /** The number of active actors of a type. */
  count(actorType: string): number {
    let count = 0;
    for (const { address } of this.#actors.values()) if (address.actorType === actorType) count++;
    return count;
  }

  /** The actor, if it is active at this host. Whether it may still write is for the fence of its shard to say. */
  find(address: ActorAddress): ActiveActor | undefined {
    return this.#actors.get(actorPart(address));
  }

  /** Whether a call belongs to the chain that has the turn of an actor of this host. */
  holds(address: ActorAddress, chain: string | undefined): boolean {
    return chain !== undefined && this.find(address)?.line.holds(chain) === true;
  }

  /** Calls back when an actor becomes inactive here. */
  onDeactivated(listener: (address: ActorAddress) => void): void {
    this.#listeners.add(listener);
  }

  /**
   * Runs work as a turn of an actor, which it activates. Only a turn that waits can be cancelled.
   *
   * @throws ActorMoved if the actor is not at this host; nothing was done then.
   */
  async run<T>(
    address: ActorAddress,
    { chain, cancel }: TurnEntry,
    work: (actor: ActiveActor) => Promise<T>,
  ): Promise<T> {
    // An actor that is free begins at once.
    const actor = this.#enterNow(address, chain, cancel) ?? (await this.#enterLater(address, chain, cancel));
    const {
      address: { actorType },
    } = actor;
    const done = this.#deps.work.begin(`turn of an actor of type ${actorType}`);
    try {
      return await work(actor);
    } finally {
      this.#leave(actor);
      done();
    }
  }

  /** Begins a turn that need not wait; `undefined` if it has to. */
  #enterNow(address: ActorAddress, chain: string | undefined, cancel: CancelToken): ActiveActor | undefined {
    if (cancel.aborted) throw cancel.reason;
    const actor = this.activate(address);
    // While it is being deactivated, only the chain that has the turn may enter.
    if ((actor.closed !== undefined && !actor.line.holds(chain)) || !actor.line.tryEnter(chain)) return undefined;
    this.#idle.remove(actor);
    actor.shard.begin();
    return actor;
  }

  async #enterLater(address: ActorAddress, chain: string | undefined, cancel: CancelToken): Promise<ActiveActor> {
    for (;;) {
      const actor = this.activate(address);
      if (actor.closed !== undefined) await unlessAborted(actor.closed, cancel);
      else {
        actor.shard.begin();
        try {
          await actor.line.enter(chain, cancel);
          if (actor.shard.isOwned) return actor;
          // Lost while it waited, without having been told yet.
          actor.line.leave();
          throw new ActorMoved();
        } catch (error) {
          this.#settle(actor);
          throw error;
        }
      }
      const entered = this.#enterNow(address, chain, cancel);
      if (entered !== undefined) return entered;
    }
  }

  /**
   * The actor, which becomes active if it is not.
   *
   * @throws ActorMoved if its shard is not this host's, or its type is not hosted here.
   */
  activate(address: ActorAddress): ActiveActor {
    const part = actorPart(address);
    const present = this.#actors.get(part);
    const shard = present?.shard ?? this.#deps.owned.of(part);
    if (present !== undefined && (present.closed !== undefined || shard.isOwned)) return present;
    // Others may consider this host dead, or it has lost the shard: what the actor does is not lost with it.
    if (present !== undefined) throw new ActorMoved();
    const settings = this.#deps.settingsOf(address.actorType);
    if (settings === undefined || !shard.isOwned || this.#isStopping) throw new ActorMoved();
    const actor = new ActiveActor(address, shard, settings);
    this.#actors.set(part, actor);
    this.#idle.add(actor);
    return actor;
  }

  #leave(actor: ActiveActor): void {
    actor.line.leave();
    this.#settle(actor);
  }

  /** A call has left, or has not got its turn. */
  #settle(actor: ActiveActor): void {
    actor.shard.end();
    if (actor.closed !== undefined || !actor.line.isFree) return;
    if (actor.isForgotten) this.#forget(actor);
    else this.#idle.add(actor);
  }

  /** The application has gone: its objects are lost, and are not told. */
  forgetAll(isMeant: (actor: ActiveActor) => boolean): void {
    for (const actor of this.list()) {
      if (!isMeant(actor)) continue;
      actor.isForgotten = true;
      if (actor.closed === undefined && actor.line.isFree) this.#forget(actor);
    }
  }

  #forget(actor: ActiveActor): void {
    this.#idle.remove(actor);
    const part = actorPart(actor.address);
    if (this.#actors.get(part) === actor) this.#actors.delete(part);
    for (const listener of this.#listeners) listener(actor.address);
  }

  /** An actor of a shard that another host has had meanwhile is out of date, even if the shard is here again. */
  #onChange({ gained, kept, lost }: OwnedChange): void {
    if (lost.size === 0 && gained.size === kept.size) return;
    for (const actor of this.#actors.values()) {
      const { shard } = actor;
      if (!lost.has(shard) && (!gained.has(shard) || kept.has(shard))) continue;
      actor.line.refuse(new ActorMoved());
      if (actor.closed === undefined) void this.#close(actor, actor.settings.drainTimeoutMs);
    }
  }

  /** Deactivates an actor when its turn has ended, or after `drainMs`. The shard is not handed over before that. */
  #close(actor: ActiveActor, drainMs?: number): Promise<void> {
    this.#idle.remove(actor);
    actor.shard.begin();
    const done = this.#deps.work.begin('deactivation of an actor');
    actor.closed = this.#deactivate(actor, drainMs).finally(() => {
      actor.shard.end();
      done();
    });
    return actor.closed;
  }

  async #deactivate(actor: ActiveActor, drainMs: number | undefined): Promise<void> {
    const { clock, deactivate, logger } = this.#deps;
    if (!actor.line.isFree) {
      const isOver = new AbortController();
      const limit = drainMs === undefined ? [] : [sleep(clock, drainMs, isOver.signal).catch(() => undefined)];
      await Promise.race([actor.line.whenFree(), ...limit]);
      isOver.abort();
    }
    actor.ending.abort(new Error('the actor is being deactivated'));
    await this.#closing.acquire(NEVER);
    try {
      if (!actor.isForgotten) await deactivate(actor);
    } catch (error) {
      logger.error({ ...actor.address, error }, 'an actor could not be deactivated');
    } finally {
      this.#closing.release();
      this.#forget(actor);
    }
  }

  /** Activates nothing more, and deactivates all when their turns have ended. Resolves when they are inactive. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#idle.stop();
    await Promise.all(this.list().map((actor) => actor.closed ?? this.#close(actor)));
  }

  /** Waits for no turn any more: those that wait are refused, those that run learn it by their signal. */
  giveUp(error: Error): void {
    for (const actor of this.#actors.values()) {
      actor.line.refuse(error);
      actor.ending.abort(error);
    }
  }
}
