import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** A compiled pattern of RE2 (https://github.com/google/re2/wiki/Syntax). */
export interface Re2Pattern {
  /** Its instructions: about as many as it has characters, with all repetitions written out. */
  readonly size: number;
  /** Whether it matches a part of the text, in time that grows with both lengths and never faster. */
  test(text: string): boolean;
}

/** A longer pattern, or one of more instructions, may take seconds to compile. */
const MAX_LENGTH = 4_000;
const MAX_SIZE = 5_000;
/** How much a pattern remembers of the texts that it has read. */
const MAX_MEMORY_BYTES = 256 * 1024;

/** Parts of JavaScript's patterns that RE2 does not have, each with a hint at what to write. */
const HINTS: readonly (readonly [written: RegExp, hint: string])[] = [
  [/^\(\?<?[=!]/, 'RE2 does not look around: join rules with &&'],
  [/^\\[1-9]/, 'RE2 has no references to groups'],
  [/^\\u/, 'write \\x{…} for a character by its code'],
  [/^\\Z/, 'write \\z for the end of the text'],
  [/^\{/, 'a part may be repeated up to 1000 times, also by groups within groups'],
];

/** A node of a parsed pattern, with repetitions written out. */
interface Node {
  readonly subs?: readonly Node[] | null;
}

/**
 * Compiles a pattern.
 *
 * @throws Error naming the part that is no RE2, or the limit that the pattern exceeds.
 */
export function compileRe2(pattern: string): Re2Pattern {
  if (pattern.length > MAX_LENGTH)
    throw new Error(`it has ${pattern.length} characters: expected at most ${MAX_LENGTH}`);
  // Loaded by the first pattern: few rules have one, and the package is large.
  const { RE2Set } = require('re2js') as typeof import('re2js');
  // A set of one: the single patterns of the package take up to 20 times as long for some, and 8 MiB.
  const set = new RE2Set(RE2Set.UNANCHORED, 0, MAX_MEMORY_BYTES);
  try {
    set.add(pattern);
  } catch (cause) {
    throw new Error(problemOf(cause), { cause });
  }
  // Counted before the set compiles them: that takes the time.
  if (countNodes(set.regexps) > MAX_SIZE)
    throw new Error(`it has more than ${MAX_SIZE} parts, with all repetitions written out: expected fewer`);
  set.compile();
  return { size: set.prog.numInst(), test: (text) => set.match(text).length > 0 };
}

/** No more than one beyond the limit. */
function countNodes(nodes: readonly Node[]): number {
  const open = [...nodes];
  let count = 0;
  for (let node = open.pop(); node !== undefined && count <= MAX_SIZE; node = open.pop()) {
    count++;
    for (const sub of node.subs ?? []) open.push(sub);
  }
  return count;
}

function problemOf(error: unknown): string {
  // The cast is safe: both members are asked for.
  const { error: problem = String(error), input } = error as {
    readonly error?: string;
    readonly input?: string | null;
  };
  const written = input ?? '';
  const [, hint] = HINTS.find(([start]) => start.test(written)) ?? [];
  return `${problem}${written === '' ? '' : ` in ${written}`}${hint === undefined ? '' : `: ${hint}`}`;
}
