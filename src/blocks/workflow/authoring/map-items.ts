import { SidecarError } from '../../../errors.ts';
import { nameOfKind } from '../../../util/known-fields.ts';
import { checkOptions, invalidArgument, LIMIT, type OptionFields } from '../../../util/option-fields.ts';
import type { MapOptions } from '../model/context.ts';

const FIELDS: OptionFields<MapOptions> = { concurrency: LIMIT };
const DEFAULT_CONCURRENCY = 10;

/**
 * Checks the arguments of `map`, and returns how many items may be worked on at the same time.
 *
 * @throws SidecarError `ERR_INVALID_ARGUMENT`
 */
export function concurrencyOf(items: unknown, fn: unknown, options: MapOptions): number {
  if (!Array.isArray(items)) throw wrong(`the items of map are ${nameOfKind(items)}: expected an array`);
  if (typeof fn !== 'function') throw wrong(`the function of map is ${nameOfKind(fn)}: expected a function`);
  checkOptions('options of map', options, FIELDS, invalidArgument);
  return options.concurrency ?? DEFAULT_CONCURRENCY;
}

function wrong(problem: string): SidecarError {
  return new SidecarError('ERR_INVALID_ARGUMENT', problem);
}

/**
 * Calls a function for each item. Rejects with the first failure, once all calls that have begun have ended: what they
 * have done is then in the history, and the code that handles the failure can undo it.
 */
export async function mapItems<Item, Result>(
  items: readonly Item[],
  fn: (item: Item, index: number) => Result,
  concurrency: number,
): Promise<Awaited<Result>[]> {
  // A copy: code may change the array while it waits.
  const rest = [...items].entries();
  const results = new Array<Awaited<Result>>(items.length);
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    for (const [index, item] of rest) {
      try {
        results[index] = await fn(item, index);
      } catch (error) {
        failures.push(error);
      }
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, work));
  if (failures.length > 0) throw failures[0];
  return results;
}
