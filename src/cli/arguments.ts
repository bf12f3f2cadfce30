import { parseArgs } from 'node:util';
import { parseGoDuration } from '../util/duration.ts';
import { parseGoBoolean } from '../util/go-boolean.ts';
import { suggest } from '../util/suggest.ts';
import { type CommandFailure, misuse, Problems } from './failure.ts';

/** A flag of a command. */
export interface Flag {
  /** Without the dashes. */
  readonly name: string;
  /** The placeholder of its value in the help. Absent for a switch: present, `=true` or `=false`. */
  readonly value?: string;
  /** Whether the value may be left out; it is then the empty text. It is given with `=` only. */
  readonly mayBeBare?: true;
  /** Its one-letter form. */
  readonly short?: string;
  /** Other names of the flag. */
  readonly aliases?: readonly string[];
  /** The option of a sidecar that it sets, such as `app.port`; docs/options.md names the flag there. */
  readonly option?: string;
  /** A one-line description. Without it, the flag is not shown in the help. */
  readonly help?: string;
  /** Why a flag of Dapr's has no effect here. It is accepted with this note. */
  readonly ignored?: string;
  /** Why a flag of Dapr's is not supported. It is rejected with this message. */
  readonly refused?: string;
}

export interface CommandLine {
  readonly flags: FlagValues;
  /**
   * The arguments after the flags: from the first that is not a flag, or after `--`. If mixed, all that are not flags.
   */
  readonly rest: readonly string[];
  /** Notes about flags without effect. */
  readonly notes: readonly string[];
}

type Token = ReturnType<typeof parse>[number];

/**
 * Parses a command line. @throws Failure naming the flags and what was expected.
 *
 * @param about - the command whose help to read
 * @param isMixed - whether flags may come after other arguments
 * @param isCollected - whether {@link FlagValues.collect} throws instead, with what is wrong with values as well
 */
export function readArguments(
  args: readonly string[],
  flags: readonly Flag[],
  about: string,
  { isMixed = false, isCollected = false }: { readonly isMixed?: boolean; readonly isCollected?: boolean } = {},
): CommandLine {
  const tokens = parse(args, flags);
  const byName = namesOf(flags);
  const end = tokens.find(
    ({ kind }, at) =>
      kind === 'option-terminator' || (kind === 'positional' && !isMixed && !isUnknown(tokens[at - 1], byName)),
  );
  const flagsEnd = end?.index ?? args.length;
  checkBare(tokens, byName, about);
  const values = new Map<string, string[]>();
  const notes: string[] = [];
  const problems = new Problems(about);
  const read = (token: Extract<Token, { kind: 'option' }>): void => {
    const given = args[token.index] ?? token.rawName;
    const isLongWithOneDash = /^-[a-z]{2}/.test(given) && byName.has(given.slice(1).replace(/=.*/s, ''));
    const flag = isLongWithOneDash ? undefined : byName.get(token.name);
    if (flag === undefined) throw unknownFlag(given, flags, about);
    if (flag.refused !== undefined) throw misuse(`${token.rawName} is not supported: ${flag.refused}`, about);
    if (flag.ignored !== undefined) notes.push(`${token.rawName} does nothing here: ${flag.ignored}`);
    const known = values.get(flag.name) ?? [];
    values.set(flag.name, [...known, readValue(token, flag, about)]);
  };
  for (const token of tokens) if (token.kind === 'option' && token.index < flagsEnd) problems.of(() => read(token));
  if (!isCollected) problems.check();
  const rest = isMixed
    ? tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []))
    : args.slice(end?.kind === 'option-terminator' ? flagsEnd + 1 : flagsEnd);
  if (end?.kind === 'positional') notes.push(...lateFlags(tokens, flagsEnd, byName));
  return { flags: new FlagValues(values, about, problems), rest, notes };
}

/** Whether a word may be the value of a flag that is not known: the command does not begin with it. */
function isUnknown(before: Token | undefined, byName: ReadonlyMap<string, Flag>): boolean {
  return before?.kind === 'option' && before.value === undefined && !byName.has(before.name);
}

/** In `insidecar run node app.js --app-port 3000`, the flag is the command's, which was hardly meant. */
function lateFlags(tokens: readonly Token[], from: number, byName: ReadonlyMap<string, Flag>): string[] {
  const late = tokens.flatMap((token) => (token.kind === 'option' && token.index > from ? [token] : []));
  const ours = late.filter(({ name, rawName }) => {
    const flag = rawName.startsWith('--') ? byName.get(name) : undefined;
    return flag !== undefined && flag.ignored === undefined && flag.refused === undefined && name !== 'help';
  });
  return [...new Set(ours.map(({ rawName }) => rawName))].map(
    (name) => `${name} comes behind the command and belongs to it: write it before the command, or -- between them`,
  );
}

/** In `--inspect 5000`, the number was meant as the value: no command is called so. */
function checkBare(tokens: readonly Token[], byName: ReadonlyMap<string, Flag>, about: string): void {
  const at = tokens.findIndex(({ kind }) => kind !== 'option');
  const [flag, next] = [tokens[at - 1], tokens[at]];
  if (flag?.kind !== 'option' || next?.kind !== 'positional' || !/^\d+$/.test(next.value)) return;
  if (flag.value !== undefined || !byName.get(flag.name)?.mayBeBare) return;
  throw misuse(`${flag.rawName} takes its value after =: ${flag.rawName}=${next.value}`, about);
}

function parse(args: readonly string[], flags: readonly Flag[]) {
  const options: Record<string, { type: 'string' | 'boolean'; short?: string }> = {};
  for (const { name, value, short, mayBeBare, aliases = [] } of flags) {
    const type = value === undefined || mayBeBare ? 'boolean' : 'string';
    options[name] = short === undefined ? { type } : { type, short };
    for (const alias of aliases) options[alias] = { type };
  }
  return parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true }).tokens;
}

function namesOf(flags: readonly Flag[]): ReadonlyMap<string, Flag> {
  return new Map(flags.flatMap((flag) => [flag.name, ...(flag.aliases ?? [])].map((name) => [name, flag] as const)));
}

function readValue(token: Extract<Token, { kind: 'option' }>, flag: Flag, about: string): string {
  const { value, inlineValue, rawName } = token;
  if (flag.mayBeBare) return value ?? '';
  if (flag.value === undefined) {
    const text = value ?? 'true';
    const isOn = parseGoBoolean(text);
    if (isOn !== undefined) return String(isOn);
    throw misuse(`${rawName} is a switch: expected no value, true or false, actual is ${JSON.stringify(text)}`, about);
  }
  // In `--app-id --app-port 3000`, the value is missing. A negative number is a value.
  const isForgotten = value === undefined || (!inlineValue && /^-\D/.test(value));
  if (isForgotten) throw misuse(`${rawName} needs a value: ${rawName} ${flag.value}`, about);
  return value;
}

function unknownFlag(given: string, flags: readonly Flag[], about: string): CommandFailure {
  const raw = given.replace(/=.*/s, '');
  const known = flags.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  const name = raw.replace(/^-+/, '');
  const meant = suggest(name, known) ?? known.find((one) => one.startsWith(`${name}-`) || one.endsWith(`-${name}`));
  const hint = meant === undefined ? '' : ` Did you mean --${meant}?`;
  return misuse(`unknown flag ${raw}.${hint}`, about);
}

/** The values of flags by name. */
export class FlagValues {
  readonly #values: ReadonlyMap<string, readonly string[]>;
  readonly #about: string;
  /** What is wrong with the flags themselves, until {@link FlagValues.collect} adds what is wrong with their values. */
  readonly #unread: Problems;
  #problems: Problems | undefined;

  constructor(values: ReadonlyMap<string, readonly string[]>, about: string, unread: Problems) {
    this.#values = values;
    this.#about = about;
    this.#unread = unread;
  }

  /** The names of the given flags. */
  get given(): readonly string[] {
    return [...this.#values.keys()];
  }

  /** All values of a repeatable flag. */
  texts(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  /** The last value. */
  text(name: string): string | undefined {
    return this.texts(name).at(-1);
  }

  /** Whether a switch is on; `undefined` if it is not given. */
  isOn(name: string): boolean | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : text === 'true';
  }

  integer(name: string, { from, to = Number.MAX_SAFE_INTEGER }: { from: number; to?: number }): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= from && value <= to) return value;
    const range = to === Number.MAX_SAFE_INTEGER ? `of at least ${from}` : `from ${from} to ${to}`;
    return this.#refuse(name, `an integer ${range}`);
  }

  port(name: string): number | undefined {
    return this.integer(name, { from: 1, to: 65_535 });
  }

  choice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const chosen = choices.find((choice) => choice.toLowerCase() === text.toLowerCase());
    if (chosen === undefined) return this.#refuse(name, `one of ${choices.join(', ')}`);
    return chosen;
  }

  /** A size such as `4Mi`, `16M` or `4194304`, in bytes. */
  bytes(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const [, digits = '', unit = ''] = /^(\d{1,12})([kKMG]i?)?B?$/.exec(text) ?? [];
    const step = unit.endsWith('i') ? 1024 : 1000;
    const bytes = Number(digits) * step ** ['', 'k', 'm', 'g'].indexOf(unit.slice(0, 1).toLowerCase());
    if (digits === '' || !Number.isSafeInteger(bytes) || bytes < 1) return this.#refuse(name, 'a size such as 4Mi');
    return bytes;
  }

  /** A duration such as `5m` or `1h30m`, in milliseconds; `0` and `0s` are 0. */
  durationMs(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const ms = text === '0' ? 0 : parseGoDuration(text);
    if (ms === undefined || ms < 0) return this.#refuse(name, 'a duration such as 5m or 1h30m, 0 for no limit');
    return Math.ceil(ms);
  }

  #refuse(name: string, expected: string): undefined {
    this.refuse(`--${name} must be ${expected}: actual is ${JSON.stringify(this.text(name))}`);
  }

  /** Refuses the command line. Within {@link FlagValues.collect} what else is wrong is found first. @throws Failure */
  refuse(problem: string): void {
    if (this.#problems === undefined) throw misuse(problem, this.#about);
    this.#problems.add(problem);
  }

  /** Refuses a command line that lacks a flag, unless there is one that could not be read: it may have been meant. */
  lack(problem: string): void {
    if (this.#unread.areNone) this.refuse(problem);
  }

  /** What `read` makes of the flags. @throws Failure with all that is wrong with the flags, and all that `read` refuses */
  collect<T>(read: () => T): T {
    const problems = new Problems(this.#about);
    problems.of(() => this.#unread.check());
    this.#problems = problems;
    const settings = problems.of(read);
    this.#problems = undefined;
    problems.check();
    // Only what has been refused has no settings.
    return settings as T;
  }
}
