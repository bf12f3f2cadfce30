import type { Bar, Outcome, Row } from './model.ts';

/** Where an instant is, in pixels from the left. */
export type Scale = (at: number) => number;

/** A scale on which time is drawn in proportion. */
export function timeScale(from: number, to: number, width: number): Scale {
  const perMs = to > from ? width / (to - from) : 0;
  return (at) => Math.min(Math.max((at - from) * perMs, 0), width);
}

/** A scale on which the instants, which are in order, have equal distances: a wait of days hides nothing. */
export function stepScale(instants: readonly number[], width: number): Scale {
  const perStep = instants.length > 1 ? width / (instants.length - 1) : 0;
  return (at) => {
    let low = 0;
    let high = instants.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((instants[middle] ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    const before = instants[low] ?? at;
    const after = instants[low + 1] ?? before;
    const part = after > before ? Math.max((at - before) / (after - before), 0) : 0;
    return (low + part) * perStep;
  };
}

/** The instants at which something began or ended, in order. */
export function instantsOf(rows: readonly Row[]): readonly number[] {
  const instants = new Set<number>();
  for (const { bars } of rows)
    for (const { from, to = from } of bars) {
      instants.add(from);
      instants.add(to);
    }
  return [...instants].sort((a, b) => a - b);
}

const DAY_MS = 86_400_000;
/** The distances of ticks below a day. */
const STEPS_MS: readonly number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3_600_000),
];

/** Round durations from 0 to the given one, about as many as asked for. */
export function ticksOf(durationMs: number, count: number): readonly number[] {
  const step = STEPS_MS.find((one) => durationMs / one <= count) ?? daysFor(durationMs / count);
  return Array.from({ length: Math.floor(durationMs / step) + 1 }, (_, index) => index * step);
}

function daysFor(leastMs: number): number {
  const unit = DAY_MS * 10 ** Math.floor(Math.log10(Math.max(leastMs / DAY_MS, 1)));
  return unit * ([1, 2, 5].find((part) => part * unit >= leastMs) ?? 10);
}

/** The drawing of a bar, or of several that cannot be told apart. */
export interface Span {
  readonly x: number;
  readonly width: number;
  readonly kind: Bar['kind'];
  /** `failed` if one of them has failed. */
  readonly outcome: Outcome;
  readonly isOpen: boolean;
  readonly count: number;
}

const LEAST_WIDTH = 3;

/** The bars to draw of a row: no more than can be told apart, in their order. */
export function spansOf(bars: readonly Bar[], scale: Scale, width: number): readonly Span[] {
  const spans: Span[] = [];
  for (const bar of bars) {
    const span = spanOf(bar, scale, width);
    const last = spans.at(-1);
    if (last === undefined || !isHidden(span, last)) spans.push(span);
    else spans[spans.length - 1] = merged(last, span);
  }
  return spans;
}

function spanOf({ kind, from, to, outcome }: Bar, scale: Scale, width: number): Span {
  const x = Math.min(scale(from), width - LEAST_WIDTH);
  const end = to === undefined ? width : scale(to);
  return { x, width: Math.max(end - x, LEAST_WIDTH), kind, outcome, isOpen: to === undefined, count: 1 };
}

/** Whether a span would be covered by the one before it: both as narrow as can be, in the same place. */
function isHidden(span: Span, last: Span): boolean {
  const isNarrow = span.width <= LEAST_WIDTH && last.width <= LEAST_WIDTH;
  return isNarrow && span.kind !== 'paused' && last.kind !== 'paused' && span.x < last.x + LEAST_WIDTH;
}

function merged(last: Span, { outcome, isOpen, kind }: Span): Span {
  return {
    ...last,
    kind: last.kind === 'wait' ? kind : last.kind,
    outcome: last.outcome === 'failed' ? 'failed' : outcome,
    isOpen: last.isOpen || isOpen,
    count: last.count + 1,
  };
}
