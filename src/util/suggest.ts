/** Names at a greater distance are not suggested. */
const MAX_DISTANCE = 3;

/** The known name that was probably meant; `undefined` if none is close. Ignores case. */
export function suggest(written: string, known: Iterable<string>): string | undefined {
  if (written.length > 64) return undefined;
  const wanted = written.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.min(MAX_DISTANCE, Math.max(1, Math.floor(written.length / 3))) + 1;
  for (const name of known) {
    const distance = editDistance(wanted, name.toLowerCase());
    if (distance >= bestDistance) continue;
    best = name;
    bestDistance = distance;
  }
  return best;
}

/** `; did you mean "x"?`, or nothing. */
export function didYouMean(written: string, known: Iterable<string>): string {
  const name = suggest(written, known);
  return name === undefined ? '' : `; did you mean ${JSON.stringify(name)}?`;
}

/**
 * The names that a caller may give, as the end of a sentence about one that is not found: `: expected a, b`. Plain
 * JavaScript may give a name that is no text. `none` is the end when there are no names.
 */
export function expectedNames(written: string, known: Iterable<string>, none: string): string {
  const names = [...known];
  return names.length === 0 ? `: ${none}` : `: expected ${names.join(', ')}${didYouMean(String(written), names)}`;
}

/** The number of insertions, deletions, replacements and swaps of neighbours (restricted Damerau–Levenshtein). */
function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const replaced = at(last, column - 1) + (left[row - 1] === right[column - 1] ? 0 : 1);
      let best = Math.min(replaced, at(last, column) + 1, at(current, column - 1) + 1);
      const isSwap =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (isSwap) best = Math.min(best, at(beforeLast, column - 2) + 1);
      current.push(best);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, right.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? 0;
}
