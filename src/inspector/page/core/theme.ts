import { effect, signal } from '@preact/signals';

export type Theme = 'auto' | 'light' | 'dark';

const STORED = 'insidecar-inspector-theme';
const NEXT: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' };

/** `auto`: what the system says. */
export const theme = signal<Theme>(storedTheme());

export function toggleTheme(): void {
  theme.value = NEXT[theme.value];
}

/** Applies the theme, and remembers it. */
export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
    try {
      localStorage.setItem(STORED, theme.value);
    } catch {}
  });
}

/** Storage may be forbidden: then the system decides. */
function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(STORED);
    if (stored === 'light' || stored === 'dark') return stored;
  } catch {}
  return 'auto';
}
