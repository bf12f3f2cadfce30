import { signal } from '@preact/signals';

export interface Toast {
  readonly id: number;
  readonly kind: 'ok' | 'bad';
  readonly text: string;
}

/** The current announcement. It changes once a second at most, so that a screen reader can follow. */
export const toasts = signal<readonly Toast[]>([]);

const SHOWN_MS = 6000;
const EACH_MS = 1000;
const MOST = 4;

let waiting: Toast[] = [];
let made = 0;
let lastAt = 0;

/** Tells that something was done (`ok`) or failed (`bad`); failures stay until they are closed. */
export function toast(kind: Toast['kind'], text: string): void {
  const told: Toast = { id: ++made, kind, text };
  waiting.push(told);
  if (waiting.length === 1) setTimeout(tell, Math.max(0, lastAt + EACH_MS - Date.now()));
  if (kind === 'ok') setTimeout(() => dismiss(told.id), SHOWN_MS);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((told) => told.id !== id);
}

function tell(): void {
  lastAt = Date.now();
  toasts.value = [...toasts.value, ...waiting].slice(-MOST);
  waiting = [];
}
