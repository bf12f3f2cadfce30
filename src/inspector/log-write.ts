import { shortened } from '../errors.ts';

/** The fields of a body that say what a write is about: no data. */
const NAMES = ['pubsubName', 'topic', 'group', 'name', 'instanceId', 'newInstanceId', 'from', 'schedule', 'ifExists'];
const NESTED = ['queue', 'to', 'filter', 'selection'];
const LISTS = ['instanceIds', 'selection', 'status'];
const FILTERS = ['fromTopic', 'prefix', 'since', 'until', 'parentId'];
const MAX_LENGTH = 256;

/** What a write is about, for the log: the names in its body, and how many things it lists. */
export function subjectOf(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return {};
  const fields = new Map(Object.entries(body));
  const subject: Record<string, unknown> = {};
  for (const name of [...NAMES, ...FILTERS]) {
    const value = fields.get(name);
    if (typeof value === 'string') subject[name] = shortened(value, MAX_LENGTH);
    else if (typeof value === 'number') subject[name] = value;
  }
  for (const name of LISTS) {
    const value = fields.get(name);
    if (Array.isArray(value))
      subject[name] = value.length === 1 ? shortened(String(value[0]), MAX_LENGTH) : value.length;
    else if (value === 'all') subject[name] = value;
  }
  for (const name of NESTED) {
    const value = fields.get(name);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) subject[name] = subjectOf(value);
  }
  return subject;
}
