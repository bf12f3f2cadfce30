import { parseWith, type StandardSchema } from '../../../util/standard-schema.ts';
import type { ActivityFunction } from './definition.ts';
import { INVALID_DATA } from './failure.ts';

/** Thrown when the input or the result of an activity, or an event, does not fit its schema. */
class InvalidDataError extends Error {
  override readonly name = INVALID_DATA;
}

/** The code of an activity between the checks of its schemas. */
export function checkedActivity(
  name: string,
  { input, output }: { readonly input?: StandardSchema | undefined; readonly output?: StandardSchema | undefined },
  run: ActivityFunction,
): ActivityFunction<unknown> {
  const check = async (schema: StandardSchema | undefined, value: unknown, what: string): Promise<unknown> =>
    parseWith(
      schema,
      value,
      (problem) => new InvalidDataError(`the ${what} of activity ${JSON.stringify(name)} ${problem}`),
    );
  return async (given, context) => {
    const parsed = await check(input, given, 'input');
    // The schema, if there is one, has made the type that the function takes.
    return check(output, await run(parsed as never, context), 'result');
  };
}
