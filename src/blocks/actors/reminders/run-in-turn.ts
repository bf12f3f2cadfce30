import { setImmediate } from '../../../util/timers.ts';
import type { ActorAddress } from '../model/address.ts';
import type { ActorTick, ActorTurns, TickOutcome } from '../model/tick.ts';

/**
 * Runs a tick as a turn of its actor. While it waits behind other turns, its place is free: the ticks of other actors
 * must not wait for those. `tick.begins` takes the place again.
 */
export async function runInTurn(
  turns: Pick<ActorTurns, 'runTurn'>,
  address: ActorAddress,
  tick: ActorTick,
  place: { leave(): void },
): Promise<TickOutcome> {
  let isWaiting = true;
  const begins = (): boolean | Promise<boolean> => {
    isWaiting = false;
    return tick.begins();
  };
  const outcome = turns.runTurn(address, { ...tick, begins });
  setImmediate(() => {
    if (isWaiting) place.leave();
  });
  try {
    return await outcome;
  } finally {
    isWaiting = false;
  }
}
