import type { ActivityFunction, Replacement } from '../blocks/workflow/model/definition.ts';
import { nameOfKind } from '../util/known-fields.ts';
import { invalidArgument } from '../util/option-fields.ts';

/** An activity that can be replaced: what `defineActivity` returns, or its function. @public */
export type ReplaceableActivity<Input = never, Output = unknown> =
  | {
      /** `activity`. */
      readonly kind: 'activity';
      /** Its name. */
      readonly name: string;
      /** Its code. */
      readonly run: ActivityFunction<Input, Output>;
    }
  | ActivityFunction<Input, Output>;

/** A sidecar whose activities can be replaced. @public */
export interface HasActivities {
  /** Its workflows. */
  readonly workflows: {
    /** The name of a registered activity. */
    registeredActivity(activity: ReplaceableActivity | string): string;
    /** Has an activity run other code. */
    replaceActivity(name: string, run: ActivityFunction): Replacement;
  };
}

/** The code that an activity may be replaced by: it takes what the activity takes, and returns what that returns. @public */
export type ActivityStandIn<Activity> =
  Activity extends ReplaceableActivity<infer Input, infer Output> ? ActivityFunction<Input, Output> : ActivityFunction;

/**
 * Has activities run other code: pairs of an activity, its definition, function or name, and the code for it. A
 * replacement counts for every call of that name. It takes precedence over the real code. Call it before or after the
 * sidecar's start.
 *
 * @example
 * ```ts
 * const charge = defineActivity('charge', async (order: { id: number }) => `receipt of ${order.id}`);
 * sidecar.register(charge);
 * const fakes = replaceActivities(sidecar, [charge, (order) => `no money for ${order.id}`]);
 * // …
 * fakes.close();
 * ```
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for an activity that is not registered, whose real code would run, and for
 * code that is not a function. Nothing is replaced then.
 * @public
 */
export function replaceActivities<const Activities extends readonly (ReplaceableActivity | string)[]>(
  { workflows }: HasActivities,
  ...replacements: {
    readonly [Index in keyof Activities]: readonly [
      activity: Activities[Index],
      run: ActivityStandIn<Activities[Index]>,
    ];
  }
): Replacement {
  const pairs = replacements as readonly (readonly [ReplaceableActivity | string, ActivityFunction])[];
  const replaced: Replacement[] = [];
  const close = (): void => {
    for (const one of replaced) one.close();
  };
  try {
    for (const [index, pair] of pairs.entries()) {
      if (!Array.isArray(pair))
        throw invalidArgument(
          `replacement ${index} is ${nameOfKind(pair)}: expected a pair, [activity, run]`,
          `replacements.${index}`,
        );
      const [activity, run] = pair;
      replaced.push(workflows.replaceActivity(workflows.registeredActivity(activity), run));
    }
  } catch (error) {
    close();
    throw error;
  }
  return { close, [Symbol.dispose]: close };
}
