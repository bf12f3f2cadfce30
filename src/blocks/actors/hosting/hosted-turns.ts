import { messageOf } from '../../../errors.ts';
import { type Ending, observe, type Probe } from '../../../probe.ts';
import type { Clock } from '../../../util/clock.ts';
import { CodeCalls } from '../../../util/code-calls.ts';
import type { Logger } from '../../../util/logger.ts';
import type { ActorAddress } from '../model/address.ts';
import type { ActorCall, ActorCaller, ActorReply } from '../model/call.ts';
import { ActorMoved } from '../model/errors.ts';
import type { ActorTick, TickOutcome } from '../model/tick.ts';
import type { ActiveActor } from '../turns/active-actor.ts';
import type { ActiveActors } from '../turns/active-actors.ts';
import { endingOf } from '../verdict.ts';
import type { HostedTypes } from './hosted-types.ts';

/** The dependencies of {@link HostedTurns}. */
export interface HostedTurnsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly types: HostedTypes;
  readonly active: ActiveActors;
  readonly probe: Probe | undefined;
  readonly newId: () => string;
  /** Whether the sidecar stops, so that applications cannot use it any more. */
  readonly isStopping: () => boolean;
}

/** The turns of actors that are hosted here: calls and ticks, each in its chain and seen by the probe. */
export class HostedTurns {
  readonly #deps: HostedTurnsDeps;
  /** Only to report those that last long: a turn has no limit. */
  readonly #running: CodeCalls;

  constructor(deps: HostedTurnsDeps) {
    this.#deps = deps;
    this.#running = new CodeCalls(deps);
  }

  /** Calls an actor in a turn of its own; `begun` is called when that begins. @throws ActorMoved if it is not here */
  call(
    address: ActorAddress,
    { chain: given, ...call }: ActorCall,
    caller: ActorCaller,
    begun?: () => void,
  ): Promise<ActorReply> {
    const { types, active } = this.#deps;
    const hosted = types.of(address.actorType);
    if (hosted === undefined) throw new ActorMoved();
    const chain = this.#chainOf(address, given);
    return active.run(address, { chain, cancel: call.cancel }, (actor) => {
      begun?.();
      const about = { kind: 'method', name: call.method } as const;
      return this.#observed(actor, about, () => hosted.hosting.call(actor, { ...call, chain }, caller));
    });
  }

  /** Runs a tick as a turn of its actor. Never rejects. */
  async tick(address: ActorAddress, tick: ActorTick): Promise<TickOutcome> {
    const { types, active, isStopping } = this.#deps;
    const hosted = types.of(address.actorType);
    if (hosted === undefined) return { kind: 'brokenOff', reason: 'the type is not hosted here' };
    const chain = this.#chainOf(address);
    try {
      return await active.run(address, { chain, cancel: tick.cancel }, async (actor) => {
        const isWanted = tick.begins();
        if (isWanted !== true && !(await isWanted)) return { kind: 'brokenOff', reason: 'it is not wanted any more' };
        const outcome = await this.#observed(actor, tick, () => hosted.hosting.tick(actor, tick, chain), endingOf);
        return isStopping() && outcome.kind === 'failed' ? { ...outcome, kind: 'brokenOff' } : outcome;
      });
    } catch (error) {
      return { kind: 'brokenOff', reason: messageOf(error) };
    }
  }

  /** Tells the probe of a turn, if there is one, and the log of one that lasts long. */
  async #observed<T>(
    { address, line }: ActiveActor,
    { kind, name }: { readonly kind: 'method' | 'reminder' | 'timer'; readonly name: string },
    turn: () => Promise<T>,
    endingOf?: (result: T) => Ending,
  ): Promise<T> {
    const { probe } = this.#deps;
    const running = this.#running.begin('', 0, () => ({ ...address, [kind]: name, waiting: line.waiting }));
    try {
      return await (probe === undefined
        ? turn()
        : observe(probe, { type: 'actor', kind, name, ...address }, turn, endingOf));
    } finally {
      this.#running.end(running);
    }
  }

  /** Waits for no turn any more. */
  abandon(): void {
    this.#running.abandon();
  }

  /** The chain of a call that begins: none for a type without reentrancy, a new one for a call without one. */
  #chainOf({ actorType }: ActorAddress, given?: string): string | undefined {
    const { types, newId } = this.#deps;
    const isReentrant = types.of(actorType)?.settings.maxStackDepth !== undefined;
    return isReentrant ? (given ?? newId()) : undefined;
  }
}
