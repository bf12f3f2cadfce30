import { clearTimeout, setTimeout } from './timers.ts';

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
