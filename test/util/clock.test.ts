import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { virtualClock } from '../../src/testing/index.ts';
import { sleep, systemClock } from '../../src/util/clock.ts';

describe('systemClock', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('now is the system’s time', () => {
    vi.setSystemTime(123_456);
    expect(systemClock.now()).toBe(123_456);
  });

  test.each([-5, 0, 1, 1_000])('calls back after %d ms', (delayMs) => {
    const called = vi.fn();
    systemClock.setTimeout(called, delayMs);
    expect(called).not.toHaveBeenCalled();
    vi.advanceTimersByTime(Math.max(delayMs, 1));
    expect(called).toHaveBeenCalledTimes(1);
  });

  test('keeps delays that are longer than Node’s timers', () => {
    const called = vi.fn();
    const days = 60 * 24 * 3_600_000;
    systemClock.setTimeout(called, days);
    vi.advanceTimersByTime(days - 1);
    expect(called).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(called).toHaveBeenCalledTimes(1);
  });

  test.each([1_000, 60 * 24 * 3_600_000])('cancel stops a timer of %d ms at any time', (delayMs) => {
    const called = vi.fn();
    const timer = systemClock.setTimeout(called, delayMs);
    vi.advanceTimersByTime(delayMs - 1);
    timer.cancel();
    vi.advanceTimersByTime(delayMs * 2);
    expect(called).not.toHaveBeenCalled();
    timer.cancel();
  });
});

describe('sleep', () => {
  test('resolves after the delay', async () => {
    const clock = virtualClock();
    let isAwake = false;
    const slept = sleep(clock, 100).then(() => {
      isAwake = true;
    });
    await clock.advance(99);
    expect(isAwake).toBe(false);
    await clock.advance(1);
    await slept;
  });

  test('rejects with the signal’s reason and leaves no timer', async () => {
    const clock = virtualClock();
    const controller = new AbortController();
    const slept = sleep(clock, 100, controller.signal);
    controller.abort(new Error('stop'));
    await expect(slept).rejects.toThrow('stop');
    expect(clock.pendingTimers).toBe(0);
  });

  test('rejects at once for a signal that has fired', async () => {
    const clock = virtualClock();
    await expect(sleep(clock, 100, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
    expect(clock.pendingTimers).toBe(0);
  });
});
