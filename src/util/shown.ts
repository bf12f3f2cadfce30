import { nameOfKind } from './known-fields.ts';

/** A wrong value as an error message shows it. Never for secrets. */
export function shown(value: unknown): string {
  if (value instanceof Date && Number.isNaN(value.getTime())) return 'an invalid Date';
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'string' && typeof value !== 'object') return String(value);
  const text = jsonOf(value) ?? nameOfKind(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** `undefined` for what has no JSON, or is nested too deep for it. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
