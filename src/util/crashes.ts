/** How often in a row the process may end while the same work is under way, before that counts as failed. */
export const DEFAULT_MAX_CRASHES = 3;

/**
 * After so many interruptions work is a suspect: it runs apart from other suspects. If the process ends again, it was
 * this one.
 */
export const SUSPECT_AFTER = 2;

/** Whether work is a suspect; with a low limit, before that is reached. */
export function isSuspect(crashes: number, maxCrashes: number): boolean {
  return crashes >= Math.max(1, Math.min(SUSPECT_AFTER, maxCrashes - 1));
}

/** Whether no attempt is granted any more: each of the retries after the limit may end the process once. */
export function isHopeless(crashes: number, maxCrashes: number): boolean {
  return maxCrashes > 0 && crashes >= 2 * maxCrashes;
}

/** Why an attempt has failed without being made again. */
export function crashReason(crashes: number): string {
  return `the process ended ${crashes === 1 ? 'while it ran' : `${crashes} times in a row while it ran`}`;
}
