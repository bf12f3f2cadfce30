import { expect, test } from 'vitest';
import { memoryState } from '../../src/index.ts';
import { type BindingNeed, type BindingUnderTest, bindingConformance, systemClock } from '../../src/kit/index.ts';
import type { Clock } from '../../src/util/clock.ts';
import { RecordingLogger } from './logger.ts';

/** What {@link conformingBinding} makes a binding under test of. */
export interface ConformingBinding extends Omit<BindingUnderTest, 'open'> {
  /** Default: that of the system. */
  readonly clock?: Clock;
}

/** A binding under test that is opened as a sidecar opens it. */
export function conformingBinding({ clock = systemClock, ...under }: ConformingBinding): BindingUnderTest {
  return {
    ...under,
    open: async () => {
      const logger = new RecordingLogger();
      const state = await memoryState().open({ clock, logger });
      return under.definition.open({ appId: 'conformance', clock, logger, state, track: () => () => undefined });
    },
  };
}

/** Tests of a binding; `lacks` are the needs that it does not meet. */
export function bindingConforms(
  make: () => BindingUnderTest | Promise<BindingUnderTest>,
  ...lacks: BindingNeed[]
): void {
  for (const { name, needs, run } of bindingConformance)
    test.skipIf(needs.some((need) => lacks.includes(need)))(name, async () => run(await make()));
}

/** The names of the cases that a binding fails. */
export async function failedCases(under: BindingUnderTest, ...lacks: BindingNeed[]): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const { name, needs, run } of bindingConformance)
    if (!needs.some((need) => lacks.includes(need))) await run(under).catch(() => failed.push(name));
  expect(bindingConformance.length).toBeGreaterThan(failed.length);
  return failed;
}
