/** A host that has not answered for so long is not waited for. */
export const TIME_LIMIT_MS = 2_000;

// Taken when this is loaded: tests replace the global ones by timers that stand still. A host that hangs is given up in
// real time, as by any network, also where a test moves the clock.
const { setTimeout, clearTimeout } = globalThis;

/** Rejects when another host takes too long. */
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
