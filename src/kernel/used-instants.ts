/** When slots of a rate, or messages, were used, and how many; the oldest first. */
export type UsedInstants = readonly (readonly [at: number, count: number])[];

/** Into how many instants those of a time are gathered at most. */
const MAX_STORED = 20;

/** Few instants for many, the oldest first: each is the last one of those that it stands for. */
export function gathered(instants: readonly number[]): UsedInstants {
  const size = Math.max(1, Math.ceil(instants.length / MAX_STORED));
  const used: [number, number][] = [];
  for (let from = 0; from < instants.length; from += size) {
    const part = instants.slice(from, from + size);
    used.push([part.at(-1) ?? 0, part.length]);
  }
  return used;
}
