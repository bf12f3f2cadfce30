import type { Activity } from '../util/clock.ts';
import { setImmediate, setTimeout } from '../util/timers.ts';

/** How long work without progress holds up a virtual clock, in real time. */
const STALL_MS = 100;
/** Min checks that must show no progress. */
const MIN_LOOKS = 20;
/** Idle turns of the event loop after which no more work is expected. */
const QUIET_TURNS = 3;

/** Longer waits sleep between two checks: threads and other processes need the CPU. */
const SPIN_MS = 5;

function turn(waitedMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (waitedMs < SPIN_MS) setImmediate(resolve);
    else setTimeout(resolve, 1);
  });
}

function running(activities: Iterable<Activity>): readonly string[] {
  return [...activities].flatMap((activity) => activity.running());
}

/** Resolves when nothing is running, or running work makes no progress: it then waits for time or external events. */
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
    // Count checks too: a suspended process has made no progress but has not waited either.
    else if (++looks > MIN_LOOKS && performance.now() - since > STALL_MS) return;
    last = state;
  }
}

/** Resolves when nothing is running; rejects after `gracePeriodMs` of real time, naming what still is. */
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
