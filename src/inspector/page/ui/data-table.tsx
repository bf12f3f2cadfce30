import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { navigate, param, withQuery } from '../core/router.ts';
import { RowCheck, SelectAll, type Selection, SelectionNote } from './selection.tsx';

export interface Column<R> {
  /** Names it in `?sort=`. */
  readonly name: string;
  readonly title: string;
  readonly cell: (row: R) => ComponentChildren;
  /** By what the loaded rows can be sorted: with it, the heading is a button. */
  readonly sortBy?: (row: R) => number | string;
  /** Numbers are aligned to the right. `wide` takes the space that is left; `mono` is for identifiers. */
  readonly kind?: 'number' | 'wide' | 'mono';
}

interface DataTableProps<R> {
  /** A name for the rows, for those who cannot see the heading. */
  readonly caption: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  readonly rowKey: (row: R) => string;
  /** Where a row leads: the first column is a link to it. Default: to `?open=` with its key. */
  readonly href?: ((row: R) => string) | undefined;
  /** Whether rows lead nowhere. */
  readonly isPlain?: boolean | undefined;
  /** With it, rows have checkboxes. */
  readonly selection?: Selection | undefined;
  /** Whether there are more rows than are loaded: then all that match can be selected. */
  readonly hasMore?: boolean;
  /** The text without rows. */
  readonly empty: ComponentChildren;
}

/** A table with a link in each row, which the keys `j`, `k` and Enter use. It scrolls in itself. */
export function DataTable<R>(props: DataTableProps<R>) {
  const { caption, columns, rowKey, selection } = props;
  // Rows can be selected while those of another filter are on their way.
  useEffect(() => selection?.keepOnly(props.rows.map(rowKey)), [props.rows]);
  if (props.rows.length === 0) return <>{props.empty}</>;
  const rows = sorted(props.rows, columns);
  const keys = rows.map(rowKey);
  return (
    <>
      {selection === undefined ? null : <SelectionNote selection={selection} keys={keys} hasMore={props.hasMore} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard. */}
      <section class="table-scroll" tabIndex={0} aria-label={caption}>
        <table>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              {selection === undefined ? null : (
                <th class="check" scope="col">
                  <SelectAll selection={selection} keys={keys} />
                </th>
              )}
              {columns.map((column) => (
                <Heading key={column.name} column={column} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <Row
                key={keys[at]}
                row={row}
                name={keys[at] ?? ''}
                columns={columns}
                href={props.href}
                isPlain={props.isPlain}
                selection={selection}
              />
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}

/** A click anywhere in a row follows its link, but for one on a control, and for text that is being selected. */
export function opensRow(href: string | undefined): (event: MouseEvent) => void {
  return ({ target }) => {
    const isControl = (target as Element).closest('a, button, input, label, summary') !== null;
    if (href !== undefined && !isControl && getSelection()?.isCollapsed !== false) navigate(href);
  };
}

interface RowProps<R> extends Pick<DataTableProps<R>, 'columns' | 'href' | 'isPlain' | 'selection'> {
  readonly row: R;
  readonly name: string;
}

/** It reads signals: then it is rendered again only if one of these or of its properties has changed. */
function Row<R>({ row, name, columns, selection, ...props }: RowProps<R>) {
  const [first, ...others] = columns;
  const href =
    props.isPlain === true ? undefined : (props.href?.(row) ?? withQuery({ open: name }, { keepsView: true }));
  const isOpen = param('open') === name;
  return (
    <tr class={href === undefined ? '' : 'linked'} aria-current={isOpen ? 'true' : undefined} onClick={opensRow(href)}>
      {selection === undefined ? null : (
        <td class="check">
          <RowCheck selection={selection} rowKey={name} />
        </td>
      )}
      {first === undefined ? null : (
        <th scope="row" class={first.kind}>
          {href === undefined ? (
            first.cell(row)
          ) : (
            <a href={href} data-row={name}>
              {first.cell(row)}
            </a>
          )}
        </th>
      )}
      {others.map((column) => (
        <td key={column.name} class={column.kind}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}

function Heading<R>({ column }: { readonly column: Column<R> }) {
  if (column.sortBy === undefined) {
    return (
      <th scope="col" class={column.kind}>
        {column.title}
      </th>
    );
  }
  const { name, isDown } = sortOf();
  const isSorted = name === column.name;
  const next = isSorted && isDown ? column.name : `-${column.name}`;
  return (
    <th scope="col" class={column.kind} aria-sort={!isSorted ? 'none' : isDown ? 'descending' : 'ascending'}>
      <a href={withQuery({ sort: next }, { keepsView: true })}>
        {column.title}
        <span aria-hidden="true" class="sort">
          {!isSorted ? '↕' : isDown ? '↓' : '↑'}
        </span>
      </a>
    </th>
  );
}

/** `?sort=name`, or `-name` for the greatest first. */
function sortOf(): { readonly name: string | undefined; readonly isDown: boolean } {
  const text = param('sort');
  return { name: text?.replace(/^-/, ''), isDown: text?.startsWith('-') === true };
}

function sorted<R>(rows: readonly R[], columns: readonly Column<R>[]): readonly R[] {
  const { name, isDown } = sortOf();
  const sortBy = columns.find((column) => column.name === name)?.sortBy;
  if (sortBy === undefined) return rows;
  const order = isDown ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [sortBy(a), sortBy(b)];
    if (left === right) return 0;
    return left < right ? -order : order;
  });
}

/** To the next page of a list; the way back is the browser's, or the start. */
export function Pager({ cursor }: { readonly cursor: string | undefined }) {
  const isFirst = param('cursor') === undefined;
  if (isFirst && cursor === undefined) return null;
  return (
    <nav class="pager" aria-label="More rows">
      {isFirst ? null : (
        <a class="button" href={withQuery({ cursor: undefined, open: undefined }, { keepsView: true })}>
          ⇤ First
        </a>
      )}
      {cursor === undefined ? (
        <span class="dim">The end</span>
      ) : (
        <a class="button" href={withQuery({ cursor, open: undefined }, { keepsView: true })}>
          Next →
        </a>
      )}
    </nav>
  );
}
