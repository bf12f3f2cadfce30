/** A range of HTTP statuses, both ends inclusive. */
export interface StatusRange {
  readonly from: number;
  readonly to: number;
}

const PART = /^\s*([1-5]\d\d)\s*(?:-\s*([1-5]\d\d)\s*)?$/;

/** Parses a list such as `429,500-599`; `undefined` if it is invalid, an empty list for empty text. */
export function parseStatusRanges(text: string): readonly StatusRange[] | undefined {
  if (text.trim() === '') return [];
  const ranges: StatusRange[] = [];
  for (const part of text.split(',')) {
    const [whole, first, last] = PART.exec(part) ?? [];
    if (whole === undefined) return undefined;
    const range = { from: Number(first), to: Number(last ?? first) };
    if (range.to < range.from) return undefined;
    ranges.push(range);
  }
  return ranges;
}
