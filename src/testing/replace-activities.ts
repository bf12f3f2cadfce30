import type { ActivityFunction, Replacement } from '../blocks/workflow/model/definition.ts';

/** A sidecar whose activities can be replaced. @public */
export interface HasActivities {
  /** Its workflows. */
  readonly workflows: { replaceActivity(name: string, run: ActivityFunction): Replacement };
}

/**
 * Replaces activities by their names in histories. A replacement applies however workflows call the activity, takes
 * precedence over the real code, and works whether or not that is registered. Call it before or after the sidecar's
 * start.
 *
 * @example
 * ```ts
 * const fakes = replaceActivities(sidecar, { charge: (_ctx, order: { id: number }) => `receipt of ${order.id}` });
 * // …
 * fakes.restore();
 * ```
 * @throws SidecarError `ERR_CONFIGURATION` for a name that is empty or longer than 256 characters, and for
 * code that is not a function.
 * @public
 */
export function replaceActivities(
  { workflows }: HasActivities,
  activities: Readonly<Record<string, ActivityFunction>>,
): Replacement {
  const replaced = Object.entries(activities).map(([name, run]) => workflows.replaceActivity(name, run));
  const restore = (): void => {
    for (const one of replaced) one.restore();
  };
  return { restore, [Symbol.dispose]: restore };
}
