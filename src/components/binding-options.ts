import { field, type OptionFields, TEXTS } from '../util/option-fields.ts';
import type { BindingDefinition, BindingDirection, BindingOptions } from './binding.ts';

/** Options that bindings of every technology have. */
export interface CommonBindingOptions extends BindingOptions {
  readonly scopes?: readonly string[] | undefined;
}

const DIRECTIONS: readonly unknown[] = ['input', 'output'] satisfies readonly BindingDirection[];
/** A path and, if need be, a query. */
const ROUTE = /^\/[!-"$-~]*$/;

/** Whether a text can be the route of an input binding. */
export function isBindingRoute(value: unknown): boolean {
  return typeof value === 'string' && ROUTE.test(value);
}

export const ROUTE_FORM = 'a path that begins with /, percent-encoded';

/** Their checks. */
export const BINDING_FIELDS: OptionFields<CommonBindingOptions> = {
  direction: field(
    (value) => Array.isArray(value) && value.length > 0 && value.every((one) => DIRECTIONS.includes(one)),
    'a list of input, output or both',
  ),
  route: field(isBindingRoute, ROUTE_FORM),
  scopes: TEXTS,
};

/** The parts of a definition that depend on them. */
export function commonParts({
  direction,
  route,
  scopes,
}: CommonBindingOptions): Pick<BindingDefinition, 'options' | 'scopes' | 'block' | 'version'> {
  const options = { ...(direction === undefined ? {} : { direction }), ...(route === undefined ? {} : { route }) };
  return { block: 'bindings', version: 'v1', options, ...(scopes === undefined ? {} : { scopes }) };
}
