/**
 * Patterns of CEL's `matches()`, which are RE2 (https://github.com/google/re2/wiki/Syntax), as regular expressions of
 * JavaScript. What JavaScript cannot do in the same way is refused by name; nothing is taken in another meaning. Groups
 * do not capture: only whether the text matches counts.
 */

import { type CharacterSet, parseClass, parseEscape, textOf, widened } from './re2-class.ts';

/** A translated pattern. */
export interface TranslatedPattern {
  readonly source: string;
  readonly flags: 'u' | 'iu';
  /** One without flag `i` that backtracks at least as much, for a check that does not know this flag beside `u`. */
  readonly widest: string;
}

/** What `(?s)` and `(?m)` set, up to the end of their group. */
interface Mode {
  readonly dotAll: boolean;
  readonly multiLine: boolean;
}

/** JavaScript takes more characters for ends of lines than RE2: what looks at them is written out. */
const LINE = '[^\\n]';
const ANY = '[\\s\\S]';
const MAX_REPEAT = 1_000;

const LEADING_FLAGS = /^\(\?([imsU]+)\)/;
const FLAGS = /^\(\?([imsU]*)(?:-([imsU]+))?([:)])/;
const NAMED_GROUP = /^\(\?P?<[A-Za-z_]\w*>/;
const LOOKAROUND = /^\(\?<?[=!]/;
const REPEAT = /^\{(\d+)(?:,(\d*))?\}/;
const QUANTIFIER = /^[*+?]\??/;

/**
 * Translates a pattern.
 *
 * @throws Error naming the construct that cannot be translated and what to write.
 */
export function translateRe2(pattern: string): TranslatedPattern {
  const [, leading = ''] = LEADING_FLAGS.exec(pattern) ?? [];
  const isFolded = leading.includes('i');
  const source = new Translation(pattern, isFolded, false).run();
  if (!isFolded) return { source, flags: 'u', widest: source };
  return { source, flags: 'iu', widest: new Translation(pattern, true, true).run() };
}

/** One pass over a pattern. */
class Translation {
  readonly #pattern: string;
  readonly #isFolded: boolean;
  readonly #isWidest: boolean;
  #at = 0;
  #mode: Mode = { dotAll: false, multiLine: false };
  /** The modes of the groups around. */
  readonly #outer: Mode[] = [];

  constructor(pattern: string, isFolded: boolean, isWidest: boolean) {
    this.#pattern = pattern;
    this.#isFolded = isFolded;
    this.#isWidest = isWidest;
  }

  run(): string {
    let source = '';
    while (this.#at < this.#pattern.length) source += this.#next();
    return source;
  }

  #next(): string {
    const character = String.fromCodePoint(this.#pattern.codePointAt(this.#at) ?? 0);
    switch (character) {
      case '\\':
        return this.#escape();
      case '[':
        return this.#class();
      case '(':
        return this.#group();
      case ')':
        this.#mode = this.#outer.pop() ?? this.#mode;
        return this.#take(1, ')');
      case '.':
        return this.#take(1, this.#mode.dotAll ? ANY : LINE);
      case '^':
        return this.#take(1, this.#mode.multiLine ? '(?<![^\\n])' : '^');
      case '$':
        return this.#take(1, this.#mode.multiLine ? '(?![^\\n])' : '$');
      case '|':
        return this.#take(1, '|');
      default:
        return this.#quantifier() ?? this.#take(character.length, this.#literal(character));
    }
  }

  #take(length: number, text: string): string {
    this.#at += length;
    return text;
  }

  #rest(): string {
    return this.#pattern.slice(this.#at);
  }

  #quantifier(): string | undefined {
    const rest = this.#rest();
    const [simple] = QUANTIFIER.exec(rest) ?? [];
    if (simple !== undefined) return this.#take(simple.length, simple);
    const [repeat, from = '', to = from] = REPEAT.exec(rest) ?? [];
    if (repeat === undefined) return undefined;
    if (Number(from) > MAX_REPEAT || Number(to) > MAX_REPEAT)
      throw new Error(`${repeat} repeats too often: expected at most ${MAX_REPEAT} times`);
    return this.#take(repeat.length, repeat);
  }

  #group(): string {
    const rest = this.#rest();
    const [named] = NAMED_GROUP.exec(rest) ?? [];
    if (named !== undefined) return this.#open(named.length);
    if (LOOKAROUND.test(rest))
      throw new Error(`${rest.slice(0, 3)}…) looks around, which RE2 cannot: join rules with &&`);
    const [flags, on = '', off = '', end] = FLAGS.exec(rest) ?? [];
    if (flags !== undefined) return this.#flags({ length: flags.length, on, off, isGroup: end === ':' });
    if (rest.startsWith('(?'))
      throw new Error(`${rest.slice(0, 4)} is no group that RE2 knows: expected (…), (?:…) or (?P<name>…)`);
    return this.#open(1);
  }

  #open(length: number): string {
    this.#outer.push(this.#mode);
    return this.#take(length, '(?:');
  }

  /** `U` swaps which repetitions are short: that does not change whether a text matches. */
  #flags(flags: {
    readonly length: number;
    readonly on: string;
    readonly off: string;
    readonly isGroup: boolean;
  }): string {
    const { length, on, off, isGroup } = flags;
    const isLeading = this.#at === 0 && !isGroup && off === '';
    if ((on.includes('i') && !isLeading) || off.includes('i'))
      throw new Error(
        `flag i stands in the middle: write (?i) at the beginning of the pattern, or both cases, as in [aA]`,
      );
    const text = isGroup ? this.#open(length) : this.#take(length, '');
    this.#mode = {
      dotAll: (this.#mode.dotAll || on.includes('s')) && !off.includes('s'),
      multiLine: (this.#mode.multiLine || on.includes('m')) && !off.includes('m'),
    };
    return text;
  }

  #escape(): string {
    const [, next = ''] = this.#rest();
    if (next === 'A') return this.#take(2, '^');
    if (next === 'z') return this.#take(2, '$');
    if (next === 'b' || next === 'B') return this.#boundary(next);
    if (next === 'Q') return this.#quoted();
    const { set, length } = parseEscape(this.#rest(), this.#isFolded);
    return this.#take(length, this.#text(set, false));
  }

  /** In any case of letters, JavaScript counts two more characters among those of words than RE2. */
  #boundary(name: string): string {
    if (this.#isFolded)
      throw new Error(`\\${name} with (?i) has no equal here: write what may stand there, as in (^|\\W)`);
    return this.#take(2, `\\${name}`);
  }

  /** `\Q…\E`: text as it stands. */
  #quoted(): string {
    const end = this.#pattern.indexOf('\\E', this.#at);
    const text = this.#pattern.slice(this.#at + 2, end === -1 ? undefined : end);
    this.#at = end === -1 ? this.#pattern.length : end + 2;
    return [...text].map((character) => this.#literal(character)).join('');
  }

  #class(): string {
    const { set, isNegated, length } = parseClass(this.#rest(), this.#isFolded);
    return this.#take(length, this.#text(set, isNegated));
  }

  #literal(character: string): string {
    const code = character.codePointAt(0) ?? 0;
    return this.#text({ ranges: [[code, code]], properties: [] }, false);
  }

  #text(set: CharacterSet, isNegated: boolean): string {
    return textOf(this.#isWidest && !isNegated ? widened(set) : set, isNegated);
  }
}
