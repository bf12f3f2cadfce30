import type { Clock, Timer } from './clock.ts';

/**
 * Calls back when a stop has waited long enough: after `share` of `gracePeriodMs` on the clock, or in real time if the
 * clock has `realGracePeriodMs`.
 */
export function setGracePeriod(clock: Clock, gracePeriodMs: number, callback: () => void, share = 1): Timer {
  const { realGracePeriodMs } = clock;
  if (realGracePeriodMs === undefined) return clock.setTimeout(callback, gracePeriodMs * share);
  const cancel = (): void => {
    timer.cancel();
    clearTimeout(realTimer);
  };
  const end = (): void => {
    cancel();
    callback();
  };
  const timer = clock.setTimeout(end, gracePeriodMs * share);
  const realTimer = setTimeout(end, Math.min(gracePeriodMs, realGracePeriodMs) * share);
  return { cancel };
}
