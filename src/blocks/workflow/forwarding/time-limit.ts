/** How long to wait for the response of another host. */
export const TIME_LIMIT_MS = 2_000;

// Captured at load time, because tests replace the global functions with fake timers: a hanging host is given up in
// real time even if a test controls the clock.
const { setTimeout, clearTimeout } = globalThis;

/** Awaits a response of another host; rejects after the time limit. */
export async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`the host has not answered within ${TIME_LIMIT_MS} ms`)), TIME_LIMIT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
