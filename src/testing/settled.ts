import type { Activity } from '../util/clock.ts';

/** How long work that makes no progress holds a virtual clock up, in real time. */
const STALL_MS = 100;
/** Looks at it that have to have seen no progress. */
const MIN_LOOKS = 20;
/** Turns of the event loop without work after which nothing more is on its way. */
const QUIET_TURNS = 3;

/** A wait that has lasted so long sleeps between two looks: threads and other processes need the processor. */
const SPIN_MS = 5;

// Taken when this is loaded: tests replace the global ones by timers that stand still.
const { setImmediate, setTimeout } = globalThis;

function turn(waitedMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (waitedMs < SPIN_MS) setImmediate(resolve);
    else setTimeout(resolve, 1);
  });
}

function running(activities: Iterable<Activity>): readonly string[] {
  return [...activities].flatMap((activity) => activity.running());
}

/** Resolves when nothing runs, or when what runs has not changed for a while: it then waits for time or the world. */
export async function quiet(activities: Iterable<Activity>): Promise<void> {
  let last = '';
  let since = performance.now();
  let looks = 0;
  for (let idleTurns = 0; idleTurns < QUIET_TURNS; ) {
    await turn(performance.now() - since);
    const now = running(activities);
    if (now.length === 0) {
      idleTurns++;
      continue;
    }
    idleTurns = 0;
    const state = now.join('\n');
    if (state !== last) [since, looks] = [performance.now(), 0];
    // Looks are counted as well: a process that stood still has made no progress, and has not waited either.
    else if (++looks > MIN_LOOKS && performance.now() - since > STALL_MS) return;
    last = state;
  }
}

/** Resolves when nothing runs; rejects after `gracePeriodMs` of real time, naming what still does. */
export async function settledActivities(activities: Iterable<Activity>, gracePeriodMs: number): Promise<void> {
  const startedAt = performance.now();
  for (let idleTurns = 0; idleTurns < QUIET_TURNS; ) {
    await turn(idleTurns > 0 ? 0 : performance.now() - startedAt);
    const now = running(activities);
    idleTurns = now.length === 0 ? idleTurns + 1 : 0;
    if (now.length > 0 && performance.now() - startedAt > gracePeriodMs)
      throw new Error(`not settled after ${gracePeriodMs} ms; still running: ${now.join(', ')}`);
  }
}
