import type { ComponentChildren } from 'preact';
import type { Loadable } from '../core/poll.ts';

/** Nothing to show, and what to do about it. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children === undefined ? null : <p>{children}</p>}
    </div>
  );
}

/** A message that something is wrong. */
export function Notice({ tone, children }: { readonly tone: 'warn' | 'bad'; readonly children: ComponentChildren }) {
  return <div class={`notice ${tone}`}>{children}</div>;
}

interface LoadedProps<T> {
  readonly of: Loadable<T>;
  readonly children: (data: T) => ComponentChildren;
}

/** Shows data from the server; before they came, that they load; or why they did not come. */
export function Loaded<T>({ of, children }: LoadedProps<T>) {
  return (
    <>
      {of.error === undefined ? null : (
        <Notice tone="bad">
          <span role="alert">{of.error}</span>{' '}
          <button type="button" class="button" onClick={of.refresh}>
            Try again
          </button>
        </Notice>
      )}
      {of.data === undefined ? (
        of.error === undefined && <p class="loading">Loading…</p>
      ) : (
        <div class={of.isStale ? 'stale' : ''} aria-busy={of.isStale}>
          {children(of.data)}
        </div>
      )}
    </>
  );
}

/** Names and values; what is `undefined` is left out. */
export function Facts({ items }: { readonly items: Readonly<Record<string, ComponentChildren>> }) {
  return (
    <dl class="facts">
      {Object.entries(items).map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
