import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { duration } from '../core/format.ts';
import { param, withQuery } from '../core/router.ts';
import { opensRow } from '../ui/data-table.tsx';
import { Bars } from './bars.tsx';
import type { Row, Timeline } from './model.ts';
import { instantsOf, type Scale, spansOf, stepScale, ticksOf, timeScale } from './scale.ts';
import { barInWords, tookOf } from './words.ts';

/** The height of a row in pixels with its line, which the style sheet repeats. */
const ROW_HEIGHT = 31;
/** Rows outside of the window that are drawn all the same, so that the keys reach them. */
const SPARE_ROWS = 10;
/** How far to scroll before other rows are drawn, in pixels. */
const JUMP = (ROW_HEIGHT * SPARE_ROWS) / 2;

interface ChartProps {
  readonly timeline: Timeline;
  /** The rows that are shown. */
  readonly rows: readonly Row[];
  /** Where what is pending ends. */
  readonly now: number;
  /** `table`: words instead of bars. `steps`: each instant takes the same space. */
  readonly view: string | undefined;
}

/** A row for each action with its bars. Draws only the rows that are seen. */
export function Chart({ timeline, rows, now, view }: ChartProps) {
  const frame = useRef<HTMLElement>(null);
  const { top, height, width, look } = useView(frame);
  const to = Math.max(timeline.to, now);
  const scale = useScale(timeline, to, width, view === 'steps');
  const first = Math.max(Math.floor(top / ROW_HEIGHT) - SPARE_ROWS, 0);
  const end = Math.min(Math.ceil((top + height) / ROW_HEIGHT) + SPARE_ROWS, rows.length);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard.
    <section class={`timeline ${view}`} ref={frame} tabIndex={0} aria-label="Timeline" onScroll={look}>
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col">Action</th>
            <th scope="col" class="bars">
              <span class={view === 'table' ? '' : 'unseen'}>After the start, and what then</span>
              {view === undefined ? (
                <Axis totalMs={to - timeline.from} scale={(ms) => scale(timeline.from + ms)} width={width} />
              ) : null}
            </th>
            <th scope="col" class="took">
              Took
            </th>
          </tr>
        </thead>
        <tbody>
          <Space rows={first} />
          {rows.slice(first, end).map((row, at) => (
            <ChartRow
              key={row.key}
              row={row}
              index={first + at + 2}
              from={timeline.from}
              scale={scale}
              width={width}
              isTable={view === 'table'}
            />
          ))}
          <Space rows={rows.length - end} />
        </tbody>
      </table>
    </section>
  );
}

/** The maximum number of bars that are described in words; the panel has them all. */
const MOST_WORDS = 20;

/** A placeholder for the rows that are not drawn. */
function Space({ rows }: { readonly rows: number }) {
  if (rows <= 0) return null;
  return (
    <tr>
      <td colSpan={3} style={{ height: `${rows * ROW_HEIGHT}px`, padding: 0 }} />
    </tr>
  );
}

interface ChartRowProps {
  readonly row: Row;
  /** From 1, that of the heading. */
  readonly index: number;
  /** When the workflow began. */
  readonly from: number;
  readonly scale: Scale;
  readonly width: number;
  readonly isTable: boolean;
}

/** It reads a signal: then it is rendered again only if that or a property has changed, and not while one scrolls. */
function ChartRow({ row, index, from, scale, width, isTable }: ChartRowProps) {
  const { key, kind, name, state, sequence, bars } = row;
  const href = withQuery({ open: key }, { keepsView: true });
  return (
    <tr
      aria-rowindex={index}
      aria-current={param('open') === key ? 'true' : undefined}
      class={`linked ${kind}`}
      onClick={opensRow(href)}
    >
      <th scope="row">
        <a href={href} data-row={key} title={name}>
          <span class="kind">{kind}</span> {name}
          {sequence === undefined ? null : <small> #{sequence}</small>}
        </a>
      </th>
      <td class="bars">
        <span class={isTable ? '' : 'unseen'}>
          {duration((bars[0]?.from ?? from) - from)}: {bars.slice(0, MOST_WORDS).map(barInWords).join('; ')}
          {bars.length > MOST_WORDS ? '; …' : ''}
        </span>
        {isTable ? null : <Bars spans={spansOf(bars, scale, width)} width={width} height={ROW_HEIGHT - 1} />}
      </td>
      <td class={`took ${state}`} title={state}>
        {tookOf(row)}
      </td>
    </tr>
  );
}

interface AxisProps {
  readonly totalMs: number;
  readonly scale: Scale;
  readonly width: number;
}

/** One label for each so many pixels. */
const TICK_WIDTH = 90;

function Axis({ totalMs, scale, width }: AxisProps) {
  return (
    <svg width={width} height="22" aria-hidden="true" class="axis">
      {ticksOf(totalMs, Math.max(Math.floor(width / TICK_WIDTH), 1)).map((tick) => (
        <Tick key={tick} x={scale(tick)} text={tick === 0 ? '0' : duration(tick)} width={width} />
      ))}
    </svg>
  );
}

function Tick({ x, text, width }: { readonly x: number; readonly text: string; readonly width: number }) {
  const isLast = x > width - TICK_WIDTH / 2;
  return (
    <>
      <line x1={x} x2={x} y1="17" y2="22" />
      <text x={isLast ? x - 2 : x + 2} y="15" text-anchor={isLast ? 'end' : 'start'}>
        {text}
      </text>
    </>
  );
}

function useScale(timeline: Timeline, to: number, width: number, isBySteps: boolean): Scale {
  const instants = useMemo(() => (isBySteps ? instantsOf(timeline.rows) : []), [timeline, isBySteps]);
  return useMemo(() => {
    if (!isBySteps) return timeScale(timeline.from, to, width);
    return stepScale(to > (instants.at(-1) ?? to) ? [...instants, to] : instants, width);
  }, [timeline, to, width, instants]);
}

/** The visible part of the frame, and the width for the bars. */
function useView(frame: { readonly current: HTMLElement | null }) {
  const [view, setView] = useState({ top: 0, height: 600, width: 0 });
  const look = () => {
    const element = frame.current;
    const bars = element?.querySelector('th.bars');
    if (element === null || !bars) return;
    const { scrollTop, clientHeight: height } = element;
    const top = scrollTop - (scrollTop % JUMP);
    const width = Math.max(Math.floor(bars.clientWidth) - 2 * PADDING, 1);
    setView((last) =>
      last.top === top && last.height === height && last.width === width ? last : { top, height, width },
    );
  };
  useLayoutEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    if (frame.current !== null) observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  return { ...view, look };
}

/** The space at each side of the bars, which the style sheet repeats. */
const PADDING = 8;
