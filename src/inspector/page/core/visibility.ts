import { computed, signal } from '@preact/signals';

/** Whether the tab is seen. A hidden one asks for nothing. */
const isVisible = signal(document.visibilityState === 'visible');

document.addEventListener('visibilitychange', () => {
  isVisible.value = document.visibilityState === 'visible';
});

/** Whether the page stands still because the user wants it. */
export const isPaused = signal(false);

/** Whether the page keeps itself up to date. */
export const isWatching = computed(() => isVisible.value && !isPaused.value);

/** The time of the clock, in milliseconds since 1970; moves once a second while the tab is seen. */
export const now = signal(Date.now());

setInterval(() => {
  if (isVisible.value) now.value = Date.now();
}, 1000);
