import { check, type Findings } from './checks.ts';
import type { Faults } from './faults.ts';
import type { Counter, Work } from './records.ts';
import { takeoverOf } from './takeover.ts';
import { COUNTER_TICK_MS, TICK_MS, type Torture } from './torture.ts';

/** What came of a run. */
export interface Report {
  readonly findings: Findings;
  /** How much was done, in one line each. */
  readonly lines: readonly string[];
}

/** Checks a run that has come to rest, and counts what was done. */
export function reportOf(torture: Torture): Report {
  const { records, lives } = torture;
  const lines = [
    ...callLines(torture),
    `deliveries: ${workLine(records.deliveries)}`,
    `job runs: ${workLine(records.runs)}`,
    `workflows: ${records.workflows.size} in the store, children included`,
    countersLine(torture),
  ];
  return {
    findings: check({ records, lives, tickMs: TICK_MS, counterTickMs: COUNTER_TICK_MS, left: torture.left }),
    lines,
  };
}

/** How long it took until the work of hosts that had ended went on elsewhere. Nothing else must fail meanwhile. */
export function takeoverLines({ records }: Torture, { endings }: Faults): readonly string[] {
  return endings.flatMap(({ how, life, at }) => {
    const took = takeoverOf(records, life, at);
    if (took === undefined) return [];
    const stop = records.calls.get(`stop ${life}`);
    const stopMs =
      stop?.endedAt === undefined ? '' : `, of which the stop took ${Math.round((stop.endedAt - at) / 1_000)} ms`;
    return [`takeover after ${how}: first ${took.firstMs} ms, last ${took.lastMs} ms${stopMs}`];
  });
}

function countersLine({ records: { counters, turns } }: Torture): string {
  const sum = (of: (counter: Counter) => number): number =>
    [...counters.values()].reduce((total, counter) => total + of(counter), 0);
  const began = [...turns.values()].reduce((total, { length }) => total + length, 0);
  const [calls, fired, ticks] = [
    sum((counter) => counter.calls.length),
    sum((counter) => counter.fired.length),
    sum((counter) => counter.ticks.length),
  ];
  return `actors: ${calls} calls, ${fired} reminders and ${ticks} ticks counted, ${began} turns`;
}

function workLine(work: ReadonlyMap<string, Work>): string {
  const done = [...work.values()].filter(({ isDone }) => isDone).length;
  const extra = [...work.values()].reduce((sum, { begins }) => sum + Math.max(0, begins.length - 1), 0);
  return `${done} done, ${extra} begun again (retries, or after a fault)`;
}

function callLines({ records }: Torture): string[] {
  const byKind = new Map<string, { ok: number; open: number; failed: Map<string, number>; longestMs: number }>();
  for (const { what, result, at, endedAt = at } of records.calls.values()) {
    const kind = byKind.get(what) ?? { ok: 0, open: 0, failed: new Map<string, number>(), longestMs: 0 };
    byKind.set(what, kind);
    kind.longestMs = Math.max(kind.longestMs, (endedAt - at) / 1_000);
    if (result === undefined) kind.open++;
    else if (result === 'ok') kind.ok++;
    else kind.failed.set(result, (kind.failed.get(result) ?? 0) + 1);
  }
  return [...byKind].map(([what, { ok, open, failed, longestMs }]) => {
    const errors = [...failed].map(([code, count]) => `${count} ${code}`).join(', ') || 'none';
    return `${what}: ${ok} acknowledged, ${open} without an answer as the host was killed, failed: ${errors}; longest ${Math.round(longestMs)} ms`;
  });
}
