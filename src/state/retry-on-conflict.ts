import { isConflictError } from './errors.ts';

/**
 * Makes a change, and makes it again while concurrent changes conflict with it. Each try has to read again.
 *
 * @param maxTries - the last conflict is thrown
 * @param onConflict - called before another try; throws if there is no sense in one
 */
export async function retryOnConflict<T>(
  maxTries: number,
  change: () => Promise<T>,
  onConflict?: (error: unknown) => void,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await change();
    } catch (error) {
      if (!isConflictError(error) || tries >= maxTries) throw error;
      onConflict?.(error);
    }
  }
}
