import type { JsonSchema } from '../util/options-schema.ts';

/**
 * A YAML value without members that are null: a key without a value is as good as absent. Null items of lists stay, since
 * the value that they stand for is unknown.
 */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(members.map(([key, member]) => [key, withoutNulls(member)]));
}

/**
 * A value without optional members that are empty where a schema has no use for that, such as `protocol: ""` among
 * choices: Dapr's tools write all fields out, and mean their defaults.
 */
export function withoutEmpties(
  value: unknown,
  { properties, additionalProperties, items, required }: JsonSchema,
): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return isSchema(items) ? value.map((item) => withoutEmpties(item, items)) : value;
  const known = isSchema(properties) ? properties : {};
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const members = Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    const rule = Object.hasOwn(known, key) ? known[key] : additionalProperties;
    if (!isSchema(rule)) return [[key, member]];
    return !needed.includes(key) && isEmptyIn(rule, member) ? [] : [[key, withoutEmpties(member, rule)]];
  });
  return Object.fromEntries(members);
}

function isEmptyIn({ enum: choices, minLength, minItems, pattern }: JsonSchema, member: unknown): boolean {
  if (Array.isArray(member)) return member.length === 0 && Number(minItems ?? 0) > 0;
  if (member !== '') return false;
  const isChoice = Array.isArray(choices) && !choices.includes('');
  return isChoice || Number(minLength ?? 0) > 0 || (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(''));
}

function isSchema(rule: unknown): rule is JsonSchema {
  return typeof rule === 'object' && rule !== null && !Array.isArray(rule);
}
