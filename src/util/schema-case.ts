import type { JsonSchema } from './options-schema.ts';

/** A key that is another one but for its case. */
export interface KeyInOtherCase {
  readonly written: string;
  readonly known: string;
  /** Whether the object has another key that means the same. */
  readonly isAmbiguous: boolean;
  /** The names and indexes that lead to the object that has it. */
  readonly path: readonly (string | number)[];
}

/** Called for each key in another case. */
export type OnOtherCase = (key: KeyInOtherCase) => void;

/**
 * Keys and choices that differ from those of a schema by case only get the schema's, as Go's JSON decoder understands
 * keys: of several that mean the same, the last one counts. Keys that are data, those of maps, keep their case.
 */
export function inSchemaCase(value: unknown, schema: object, onOtherCase?: OnOtherCase): unknown {
  return renamed(value, schema as JsonSchema, [], onOtherCase);
}

function renamed(
  value: unknown,
  { properties, additionalProperties, items, enum: choices }: JsonSchema,
  path: readonly (string | number)[],
  tell: OnOtherCase | undefined,
): unknown {
  if (typeof value === 'string' && Array.isArray(choices)) return chosen(value, choices);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value))
    return isSchema(items) ? value.map((item, index) => renamed(item, items, [...path, index], tell)) : value;
  const known = isSchema(properties) ? properties : {};
  const byLowerCase = new Map(Object.keys(known).map((name) => [name.toLowerCase(), name]));
  const members = Object.entries(value).map(([written, member]): [string, unknown] => {
    const name = Object.hasOwn(known, written) ? written : (byLowerCase.get(written.toLowerCase()) ?? written);
    if (name !== written) tell?.({ written, known: name, path, isAmbiguous: countOf(name, value) > 1 });
    const rule = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    return [name, isSchema(rule) ? renamed(member, rule, [...path, name], tell) : member];
  });
  // It defines members and assigns none: a name such as `__proto__` stays a member.
  return Object.fromEntries(members);
}

function chosen(value: string, choices: readonly unknown[]): unknown {
  if (choices.includes(value)) return value;
  return choices.find((one) => typeof one === 'string' && one.toLowerCase() === value.toLowerCase()) ?? value;
}

function countOf(name: string, value: object): number {
  return Object.keys(value).filter((key) => key.toLowerCase() === name.toLowerCase()).length;
}

function isSchema(rule: unknown): rule is JsonSchema {
  return typeof rule === 'object' && rule !== null && !Array.isArray(rule);
}
