import { harmless } from '../../util/harmless-text.ts';
import { type Style, styled } from '../output.ts';
import { cut, widthOf } from './text.ts';

const GAP = 2;
/** No column that grows becomes narrower than this. */
const LEAST = 12;

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => string | number | undefined;
  /** Whether it is cut when the terminal is too narrow. */
  readonly isLong?: boolean;
  readonly isNumber?: boolean;
  readonly style?: (row: Row) => Style | undefined;
}

/** Where a table is shown. */
export interface TableOptions {
  /** The columns of the terminal; `undefined` without one: then nothing is cut. */
  readonly width: number | undefined;
  readonly isColoured: boolean;
}

/** The lines of a table with a heading. Columns that are empty in all rows are left out. */
export function tableOf<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { width, isColoured }: TableOptions,
): string {
  const texts = columns.map((column) => rows.map((row) => harmless(String(column.of(row) ?? ''))));
  const shown = columns.flatMap((column, at) => {
    const cells = texts[at] ?? [];
    const needed = Math.max(...cells.map(widthOf), column.title.length);
    return cells.some((cell) => cell !== '') ? [{ column, cells, width: needed }] : [];
  });
  if (width !== undefined) narrow(shown, width);
  const line = (textOf: (one: (typeof shown)[number]) => string): string =>
    shown
      .map((one) => padded(textOf(one), one))
      .join(' '.repeat(GAP))
      .trimEnd();
  const heading = line(({ column }) => column.title);
  const body = rows.map((row, at) => {
    const parts = shown.map((one) => {
      const text = padded(one.cells[at] ?? '', one);
      const style = isColoured ? one.column.style?.(row) : undefined;
      return style === undefined ? text : styled(style, text);
    });
    return parts.join(' '.repeat(GAP)).trimEnd();
  });
  return `${[isColoured ? styled('dim', heading) : heading, ...body].join('\n')}\n`;
}

interface Shown {
  readonly column: Pick<Column<never>, 'isLong' | 'isNumber'>;
  width: number;
}

/** Takes what is too much from the columns that may be cut, the widest first. */
function narrow(shown: readonly Shown[], width: number): void {
  const total = (): number => shown.reduce((sum, one) => sum + one.width, GAP * (shown.length - 1));
  for (let excess = total() - width; excess > 0; excess = total() - width) {
    const long = shown.filter(({ column, width: own }) => column.isLong && own > LEAST);
    const [widest, next] = long.sort((a, b) => b.width - a.width);
    if (widest === undefined) return;
    const step = Math.max(1, widest.width - (next?.width ?? LEAST));
    widest.width -= Math.min(excess, step, widest.width - LEAST);
  }
}

function padded(text: string, { column, width }: Shown): string {
  const fitting = cut(text, width);
  const space = ' '.repeat(Math.max(0, width - widthOf(fitting)));
  return column.isNumber ? space + fitting : fitting + space;
}
