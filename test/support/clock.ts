import { type VirtualClock, type VirtualClockOptions, virtualClock } from '../../src/testing/index.ts';

/** A virtual clock for tests that may take long on a machine that is busy with others. */
export function patientClock(options: VirtualClockOptions = {}): VirtualClock {
  return virtualClock({ gracePeriod: 18_000, ...options });
}
