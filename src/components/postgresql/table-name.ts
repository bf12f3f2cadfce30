import { field, type OptionField } from '../../util/option-fields.ts';
import { quoteName } from './schema.ts';

const FORM = /^(?:[A-Za-z0-9_]{1,63}\.)?[A-Za-z0-9_]{1,63}$/;

/** The form of a table's name, in words. */
export const TABLE_NAME_FORM =
  'a name of letters, digits and underscores, with a schema and a dot before it if need be';

/** A table's name. */
export const TABLE_NAME: OptionField = field((value) => typeof value === 'string' && FORM.test(value), TABLE_NAME_FORM);

/** A table's name in statements. Upper case is lower case, as for a name without quotation marks. */
export function tableInSql(name: string): string {
  return name.toLowerCase().split('.').map(quoteName).join('.');
}
