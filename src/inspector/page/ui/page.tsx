import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { navigate, param, visits, withQuery } from '../core/router.ts';
import { currentApp } from '../core/session.ts';

interface PageProps {
  readonly title: string;
  /** One line below the title. */
  readonly note?: ComponentChildren;
  /** Buttons beside the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The frame of a page. Its heading gets the focus when somebody comes from another page. */
export function Page({ title, note, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const visit = visits.value;
  useEffect(() => {
    if (visit === 0) return;
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [visit]);
  const appId = currentApp.value?.appId;
  useEffect(() => {
    document.title = [title, appId, 'insidecar'].filter(Boolean).join(' · ');
  }, [title, appId]);
  return (
    <>
      <header class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {note === undefined ? null : <p class="note">{note}</p>}
        </div>
        {actions}
      </header>
      {children}
    </>
  );
}

/** A part of a page with a heading. */
export function Section({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="section">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

interface DrawerProps {
  readonly title: string;
  /** Below the title: what it is about. */
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The side panel for what `?open=` names: give it a `key` for each thing. Escape closes it. */
export function Drawer({ title, note, children }: DrawerProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    return focusRow(param('open'));
  }, []);
  return (
    <aside class="drawer" aria-label={title}>
      <header>
        <div>
          <h2 ref={heading} tabIndex={-1}>
            {title}
          </h2>
          {note === undefined ? null : <p class="note">{note}</p>}
        </div>
        <a class="button" data-close href={closeHref()} aria-label="Close" title="Close (Esc)">
          ✕
        </a>
      </header>
      <div class="drawer-body">{children}</div>
    </aside>
  );
}

/** Gives the focus back to the row when the panel closes, but not when it shows another. */
function focusRow(opened: string | undefined): () => void {
  return () => {
    if (param('open') !== undefined || opened === undefined) return;
    document.querySelector<HTMLElement>(`a[data-row="${CSS.escape(opened)}"]`)?.focus();
  };
}

function closeHref(): string {
  return withQuery({ open: undefined, tab: undefined }, { keepsView: true });
}

/** Closes the side panel. */
export function closeDrawer(): void {
  navigate(closeHref());
}

interface TabsProps {
  readonly label: string;
  /** Names and titles; the first one is shown by default. */
  readonly tabs: readonly (readonly [string, string])[];
}

/** Links to the parts of a page, by `?tab=`. */
export function Tabs({ label, tabs }: TabsProps) {
  const current = currentTab(tabs);
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(([name, title], at) => (
        <a
          key={name}
          href={withQuery({ tab: at === 0 ? undefined : name })}
          aria-current={name === current ? 'page' : undefined}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}

export function currentTab(tabs: TabsProps['tabs']): string | undefined {
  const named = param('tab');
  return tabs.some(([name]) => name === named) ? named : tabs[0]?.[0];
}
