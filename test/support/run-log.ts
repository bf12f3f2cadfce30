/** A run of a limited name: when it began and ended, in milliseconds. Without an end, it goes on or was broken off. */
export interface LoggedRun {
  readonly beganAt: number;
  readonly endedAt?: number | undefined;
}

/** The most runs at one time. One that ends at an instant makes room for one that begins then. */
export function mostAtOnce(runs: readonly LoggedRun[]): number {
  const steps = runs.flatMap(({ beganAt, endedAt = Number.POSITIVE_INFINITY }) => [
    [beganAt, 1] as const,
    [endedAt, -1] as const,
  ]);
  steps.sort(([at, by], [otherAt, otherBy]) => at - otherAt || by - otherBy);
  let now = 0;
  return steps.reduce((most, [, by]) => {
    now += by;
    return Math.max(most, now);
  }, 0);
}

/** The most runs that began in any span of a time. */
export function mostIn(runs: readonly LoggedRun[], perMs: number): number {
  const begins = runs.map(({ beganAt }) => beganAt).sort((one, other) => one - other);
  return Math.max(
    0,
    ...begins.map((from, first) => begins.filter((at, index) => index >= first && at - from < perMs).length),
  );
}
