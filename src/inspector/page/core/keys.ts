import { signal } from '@preact/signals';
import { navigate } from './router.ts';
import { isPaused } from './visibility.ts';

/** Whether the list of keys is shown. */
export const isHelpOpen = signal(false);

/** After `g`, the next letter goes to a page. */
const GO_MS = 1500;

/** Listens for the keys that work everywhere. `pages`: links by letter. */
export function startKeys(pages: ReadonlyMap<string, string>): void {
  let goUntil = 0;
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector('dialog[open]') !== null) return;
    if (event.key === 'Escape') return leave(event);
    if (isTyping(event.target)) return;
    const href = Date.now() < goUntil ? pages.get(event.key) : undefined;
    goUntil = event.key === 'g' ? Date.now() + GO_MS : 0;
    if (href !== undefined) navigate(href);
    else if (KEYS.get(event.key)?.() !== true) return;
    event.preventDefault();
  });
}

/** Each answers whether the key meant something. */
const KEYS = new Map<string, () => boolean>([
  ['?', () => set(() => (isHelpOpen.value = true))],
  ['p', () => set(() => (isPaused.value = !isPaused.value))],
  ['/', () => focus('#search')],
  ['f', () => focus('.filters input, .filters select')],
  ['.', () => focus('.drawer .actions :is(button, a)') || focus('main .actions :is(button, a)')],
  ['j', () => moveRow(1)],
  ['k', () => moveRow(-1)],
]);

function set(change: () => unknown): boolean {
  change();
  return true;
}

function focus(selector: string): boolean {
  const element = document.querySelector<HTMLElement>(selector);
  element?.focus();
  return element !== null;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.matches('input:not([type=checkbox]), textarea, select, [contenteditable]')
  );
}

/** Leaves a field, else the side panel. */
function leave(event: KeyboardEvent): void {
  const closer = document.querySelector<HTMLAnchorElement>('.drawer a[data-close]');
  if (isTyping(event.target) && !(event.target as HTMLElement).closest('.drawer')) {
    (event.target as HTMLElement).blur();
  } else if (closer !== null) {
    event.preventDefault();
    closer.click();
  }
}

/** Moves the focus to the row below or above. While the side panel shows a row, it shows that one then. */
function moveRow(step: number): boolean {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('a[data-row]')];
  if (links.length === 0) return false;
  const opened = document.querySelector('.drawer') !== null;
  const from = opened
    ? links.findIndex((row) => row.closest('tr')?.ariaCurrent === 'true')
    : links.findIndex((row) => row.closest('tr')?.contains(document.activeElement) === true);
  const next = links[Math.max(0, Math.min(links.length - 1, from < 0 ? 0 : from + step))];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
  if (opened) next?.click();
  return true;
}
