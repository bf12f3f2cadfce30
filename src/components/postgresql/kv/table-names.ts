import { quoteName } from '../schema.ts';

/** Plain, or quoted; PostgreSQL folds plain names to lower case. */
const PART = /^(?:[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|"(?:[^"\0]|"")+")$/;

/** The form of a table's name, for messages. */
export const TABLE_FORM = 'a name of letters, digits and underscores, or a schema, a dot and such a name';

/** A table. */
export interface TableName {
  /** For statements, with its schema if one is given. */
  readonly sql: string;
  readonly schema: string | undefined;
  /** Without its schema. */
  readonly name: string;
}

/** Reads a name as PostgreSQL reads it in the statements of Dapr; `undefined` if it is not a name. */
export function parseTableName(text: string): TableName | undefined {
  const parts = text.split('.');
  if (parts.length > 2 || !parts.every((part) => PART.test(part))) return undefined;
  const names = parts.map((part) =>
    part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part.toLowerCase(),
  );
  const name = names.at(-1) ?? '';
  return tableOf(names.length === 2 ? names[0] : undefined, name);
}

function tableOf(schema: string | undefined, name: string): TableName {
  return { sql: schema === undefined ? quoteName(name) : `${quoteName(schema)}.${quoteName(name)}`, schema, name };
}

/** Another table in the same schema. */
export function tableBeside({ schema }: TableName, name: string): TableName {
  return tableOf(schema, name);
}
