// Captured at load time, because tests replace the global functions with fake timers: what hangs is given up in real
// time even if a test controls the clock.
const { setTimeout, clearTimeout } = globalThis;

/**
 * Rejects with what `onOver` returns if the work is not done in time. Uses real time: the time that a server or another
 * host takes is independent of the sidecar's clock.
 */
export async function withTimeLimit<T>(work: Promise<T>, limitMs: number, onOver: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(onOver()), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
