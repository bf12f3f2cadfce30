import type { Activity } from '../../src/kit/index.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';

/** Does not wait for work that makes no progress, which holds each timer of others up for 100 ms of real time. */
export class HastyClock extends VirtualClock {
  constructor(startAt: number = Date.parse('2026-01-01T00:00:00Z')) {
    super(startAt, 18_000);
  }

  override watch(_activity: Activity): void {}
}
