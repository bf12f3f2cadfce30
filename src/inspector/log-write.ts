import { shortened } from '../errors.ts';

/** The fields of a body that say what a write is about: no data. */
const NAMES = ['pubsubName', 'topic', 'group', 'name', 'instanceId', 'newInstanceId', 'from', 'schedule', 'ifExists'];
const NESTED = ['queue', 'to', 'filter', 'selection'];
const LISTS = ['instanceIds', 'selection', 'status'];
const FILTERS = ['fromTopic', 'prefix', 'since', 'until', 'parentId'];
const MAX_LENGTH = 256;

/**
 * The subject of a write, for the log: the names in its body, and how many things it lists. The body may be anything.
 */
export function subjectOf(body: unknown): Readonly<Record<string, unknown>> {
  const fields = fieldsOf(body);
  const subject = namesIn(fields);
  for (const name of NESTED) {
    const value = fields.get(name);
    if (isObject(value)) subject[name] = namesIn(fieldsOf(value));
  }
  return subject;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(isObject(value) ? Object.entries(value) : []);
}

function namesIn(fields: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const subject: Record<string, unknown> = {};
  for (const name of [...NAMES, ...FILTERS]) {
    const value = fields.get(name);
    if (typeof value === 'string') subject[name] = shortened(value, MAX_LENGTH);
    else if (typeof value === 'number') subject[name] = value;
  }
  for (const name of LISTS) {
    const value = fields.get(name);
    const [only]: readonly unknown[] = Array.isArray(value) && value.length === 1 ? value : [];
    if (typeof only === 'string') subject[name] = shortened(only, MAX_LENGTH);
    else if (Array.isArray(value)) subject[name] = value.length;
    else if (value === 'all') subject[name] = value;
  }
  return subject;
}
