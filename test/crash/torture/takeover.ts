import type { Records } from './records.ts';

/**
 * How long after an instant a host's recurring jobs ran elsewhere: the first and the last of them, in milliseconds.
 * `undefined` when it had none.
 */
export function takeoverOf(
  records: Records,
  life: number,
  from: number,
): { readonly firstMs: number; readonly lastMs: number } | undefined {
  const latest = new Map<string, { at: number; life: number }>();
  const next = new Map<string, number>();
  for (const { name, begins } of records.runs.values()) {
    if (!name.startsWith('tick')) continue;
    for (const begin of begins) {
      if (begin.at <= from && begin.at > (latest.get(name)?.at ?? 0)) latest.set(name, begin);
      if (begin.at > from && begin.life !== life) next.set(name, Math.min(begin.at, next.get(name) ?? begin.at));
    }
  }
  const owned = [...latest].filter(([, last]) => last.life === life).map(([name]) => name);
  const tookMs = owned.map((name) => ((next.get(name) ?? Number.POSITIVE_INFINITY) - from) / 1_000);
  if (tookMs.length === 0) return undefined;
  return { firstMs: Math.round(Math.min(...tookMs)), lastMs: Math.round(Math.max(...tookMs)) };
}
