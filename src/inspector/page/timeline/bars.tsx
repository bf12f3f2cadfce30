import type { Span } from './scale.ts';

interface BarsProps {
  readonly spans: readonly Span[];
  readonly width: number;
  readonly height: number;
}

/** The bars of a row. The row says in words as well what they show. */
export function Bars({ spans, width, height }: BarsProps) {
  let free = 0;
  return (
    <svg width={width} height={height} aria-hidden="true">
      {spans.map((span, at) => {
        const hasFailed = span.outcome === 'failed' && span.x >= free;
        if (hasFailed) free = span.x + CROSS_WIDTH;
        return <BarShape key={at} span={span} middle={height / 2} hasCross={hasFailed} />;
      })}
    </svg>
  );
}

/** Crosses that lie on each other say nothing. */
const CROSS_WIDTH = 10;

interface BarShapeProps {
  readonly span: Span;
  readonly middle: number;
  readonly hasCross: boolean;
}

function BarShape({ span: { x, width, kind, outcome, isOpen }, middle, hasCross }: BarShapeProps) {
  const half = { run: 8, paused: 4, wait: 0, instant: 6 }[kind];
  const tip = isOpen ? Math.min(width, half) : 0;
  const shape =
    kind === 'instant'
      ? `M${Math.max(x, half)} ${middle - half}l6 6l-6 6l-6 -6z`
      : `M${x} ${middle - half}h${width - tip}l${tip} ${half}l${-tip} ${half}h${tip - width}z`;
  const isInside = width > 18;
  return (
    <g class={`${kind} ${outcome}`}>
      <path d={shape} />
      {hasCross ? (
        <path
          class={isInside ? 'cross inside' : 'cross'}
          d={`M${isInside ? x + width - 13 : x + width / 2 - 4} ${middle - 4}l8 8m0 -8l-8 8`}
        />
      ) : null}
    </g>
  );
}
