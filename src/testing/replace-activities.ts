import type { ActivityFunction, Replacement } from '../blocks/workflow/model/definition.ts';

/** A sidecar whose activities can be replaced. @public */
export interface HasActivities {
  /** Its workflows. */
  readonly workflows: { replaceActivity(name: string, run: ActivityFunction): Replacement };
}

/**
 * Has activities run other code, by the names under which histories have them. The code that stands in for them counts
 * however workflows call them, whether or not the real code is registered, now or later, and goes before it. Before or
 * after the start of the sidecar.
 *
 * @example
 * ```ts
 * const fakes = replaceActivities(sidecar, { charge: (_ctx, order: Order) => `receipt of ${order.id}` });
 * // …
 * fakes.restore();
 * ```
 * @throws SidecarError `ERR_CONFIGURATION` for a name that is empty or longer than 256 characters.
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
