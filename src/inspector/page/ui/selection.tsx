import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { plural } from '../core/format.ts';
import { route } from '../core/router.ts';

/** Which rows are selected. */
export interface Selection {
  readonly keys: Signal<ReadonlySet<string>>;
  /** Whether all that match are meant: also those that are not loaded. */
  readonly isAll: Signal<boolean>;
  readonly isEmpty: ReadonlySignal<boolean>;
  readonly clear: () => void;
  /** Forgets the rows that are shown no more. */
  readonly keepOnly: (shown: readonly string[]) => void;
}

/** Nothing is selected at first, nor when the query changes: what is selected must be what is seen. */
export function useSelection(): Selection {
  const selection = useMemo(makeSelection, []);
  const query = new URLSearchParams(route.value.query);
  for (const name of ['open', 'sort']) query.delete(name);
  useEffect(selection.clear, [query.toString()]);
  return selection;
}

function makeSelection(): Selection {
  const keys = signal<ReadonlySet<string>>(new Set());
  const isAll = signal(false);
  const clear = () => {
    keys.value = new Set();
    isAll.value = false;
  };
  const keepOnly = (shown: readonly string[]) => {
    const kept = shown.filter((key) => keys.value.has(key));
    if (kept.length < keys.value.size) keys.value = new Set(kept);
  };
  return { keys, isAll, keepOnly, isEmpty: computed(() => keys.value.size === 0 && !isAll.value), clear };
}

export function RowCheck({ selection, rowKey }: { readonly selection: Selection; readonly rowKey: string }) {
  const { keys, isAll } = selection;
  return (
    <input
      type="checkbox"
      aria-label={`Select ${rowKey}`}
      checked={isAll.value || keys.value.has(rowKey)}
      disabled={isAll.value}
      onChange={(event) => {
        const next = new Set(keys.value);
        if (event.currentTarget.checked) next.add(rowKey);
        else next.delete(rowKey);
        keys.value = next;
      }}
    />
  );
}

/** The checkbox of the heading: all rows that are loaded. */
export function SelectAll({ selection, keys }: { readonly selection: Selection; readonly keys: readonly string[] }) {
  const isEach = selection.isAll.value || keys.every((key) => selection.keys.value.has(key));
  return (
    <input
      type="checkbox"
      aria-label="Select all rows"
      checked={isEach}
      indeterminate={!isEach && !selection.isEmpty.value}
      onChange={() => {
        if (isEach) selection.clear();
        else selection.keys.value = new Set(keys);
      }}
    />
  );
}

interface SelectionNoteProps {
  readonly selection: Selection;
  readonly keys: readonly string[];
  readonly hasMore?: boolean | undefined;
}

/** How many rows are selected, and the way to all that match. */
export function SelectionNote({ selection, keys, hasMore = false }: SelectionNoteProps) {
  const { isAll, isEmpty, clear } = selection;
  const isEach = keys.every((key) => selection.keys.value.has(key));
  return (
    <p class="selection" role="status">
      {isEmpty.value ? null : (
        <>
          {isAll.value ? 'All that match are selected.' : `${plural(selection.keys.value.size, 'row')} selected.`}{' '}
          {hasMore && isEach && !isAll.value ? (
            <button
              type="button"
              class="as-link"
              onClick={() => {
                isAll.value = true;
              }}
            >
              Select all that match
            </button>
          ) : null}{' '}
          <button type="button" class="as-link" onClick={clear}>
            Clear
          </button>
        </>
      )}
    </p>
  );
}
