import type { Clock, Timer } from './clock.ts';

/**
 * Calls back when a stop has waited long enough: after a share of `patienceMs` on the clock, or in real time when the
 * clock says how much of that there is.
 */
export function setPatience(clock: Clock, patienceMs: number, callback: () => void, share = 1): Timer {
  const { realPatienceMs } = clock;
  if (realPatienceMs === undefined) return clock.setTimeout(callback, patienceMs * share);
  const cancel = (): void => {
    timer.cancel();
    clearTimeout(realTimer);
  };
  const end = (): void => {
    cancel();
    callback();
  };
  const timer = clock.setTimeout(end, patienceMs * share);
  const realTimer = setTimeout(end, Math.min(patienceMs, realPatienceMs) * share);
  return { cancel };
}
