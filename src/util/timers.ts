import timers from 'node:timers';

// Node's own timers, captured at import: tests replace the global ones with timers that stand still, and those of
// jsdom are a browser's, without `setImmediate`.
export const setTimeout: typeof timers.setTimeout = timers.setTimeout;
export const clearTimeout: typeof timers.clearTimeout = timers.clearTimeout;
export const setInterval: typeof timers.setInterval = timers.setInterval;
export const clearInterval: typeof timers.clearInterval = timers.clearInterval;
export const setImmediate: typeof timers.setImmediate = timers.setImmediate;
