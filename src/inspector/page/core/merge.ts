/** The fields that a merge of records needs. */
export interface Mergeable {
  readonly key: string;
  readonly seq: number;
  readonly at: number;
}

/** The records that the page keeps, at most. */
export const KEPT_RECORDS = 2000;

/** The records with the changes in them: the last version of each that is meant, the newest first, at most `limit`. */
export function mergeRecords<R extends Mergeable>(
  kept: readonly R[],
  changes: readonly R[],
  { limit = KEPT_RECORDS, isMeant = () => true }: { limit?: number; isMeant?: (record: R) => boolean } = {},
): readonly R[] {
  const changed = new Map<string, R>();
  for (const record of changes) {
    const last = changed.get(record.key);
    if (last === undefined || last.seq <= record.seq) changed.set(record.key, record);
  }
  const all = kept.map((record) => {
    const change = changed.get(record.key);
    if (change === undefined) return record;
    changed.delete(record.key);
    return change.seq > record.seq ? change : record;
  });
  all.push(...changed.values());
  const merged = all.filter(isMeant);
  merged.sort((a, b) => b.at - a.at || b.seq - a.seq);
  return merged.length > limit ? merged.slice(0, limit) : merged;
}
