import { definedOnly } from '../util/defined-only.ts';
import { parseGoDuration } from '../util/duration.ts';
import { isTruthy } from '../util/is-truthy.ts';

/** The metadata of a component, and where what is found in them is reported. */
export interface MetadataSource {
  /** By name, secrets resolved. */
  readonly values: ReadonlyMap<string, string>;
  /** Reports something that must be fixed. */
  readonly problem: (message: string) => void;
  /** Reports something without effect, or with another effect than in Dapr. */
  readonly note: (message: string) => void;
}

/** The longest time limit, in milliseconds. */
export const DAY_MS = 86_400_000;

/** Certificates in PEM. */
export interface Certificates {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** The durations that are taken. */
export interface DurationRange {
  /** The unit of a plain number. Without it, a plain number is refused. */
  readonly unitMs?: 1 | 1_000;
  /** In whole hours in messages. Default: no limit. */
  readonly maxMs?: number;
  /** Whether a negative duration is 0; else it is refused. */
  readonly negativeIsZero?: boolean;
}

/**
 * Reads the metadata of a component and reports what is wrong. Empty values count as not given. Messages contain no
 * value, since it may come from a secret store.
 */
export class MetadataReader {
  readonly values: MetadataSource['values'];
  readonly #source: MetadataSource;
  #hasProblem = false;

  constructor(source: MetadataSource) {
    this.values = source.values;
    this.#source = source;
  }

  get hasProblem(): boolean {
    return this.#hasProblem;
  }

  problem(message: string): void {
    this.#hasProblem = true;
    this.#source.problem(message);
  }

  note(message: string): void {
    this.#source.note(message);
  }

  text(name: string): string | undefined {
    return this.values.get(name) || undefined;
  }

  /** The given texts, by the names of options. */
  texts<Option extends string>(names: Readonly<Record<Option, string>>): { [Name in Option]?: string } {
    const texts = Object.entries<string>(names).map(([option, name]) => [option, this.text(name)]);
    // The cast is safe: the options are those of the parameter.
    return definedOnly(Object.fromEntries(texts)) as { [Name in Option]?: string };
  }

  flag(name: string): boolean | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : isTruthy(text);
  }

  /** A whole number; 0 counts as not given, if it is allowed. */
  number(name: string, { min = 0, max }: { readonly min?: number; readonly max?: number } = {}): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (!/^\d{1,15}$/.test(text) || Number(text) < min || Number(text) > (max ?? Number.POSITIVE_INFINITY)) {
      const range = max === undefined ? `of ${min} or more` : `from ${min} to ${max}`;
      this.problem(`metadata ${name} must be a whole number ${range}`);
    }
    return Number(text) || undefined;
  }

  /** A duration such as `5s`, in whole milliseconds, rounded up. */
  durationMs(name: string, { unitMs, maxMs, negativeIsZero = false }: DurationRange = {}): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const isPlain = unitMs !== undefined && /^-?\d{1,15}$/.test(text);
    const ms = isPlain ? Number(text) * unitMs : (parseGoDuration(text) ?? Number.NaN);
    if (ms < 0 && negativeIsZero) return 0;
    if (ms >= 0 && ms <= (maxMs ?? Number.MAX_SAFE_INTEGER)) return Math.ceil(ms);
    const limit = maxMs === undefined ? '' : ` of at most ${Math.floor(maxMs / 3_600_000)}h`;
    const plain = unitMs === undefined ? '' : `, or a number of ${unitMs === 1 ? 'milliseconds' : 'seconds'}`;
    this.problem(`metadata ${name} must be a duration${limit}, such as "5s"${plain}`);
    return undefined;
  }

  choice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const text = this.text(name);
    const choice = choices.find((one) => one === text);
    if (text !== undefined && choice === undefined) {
      const quoted = choices.map((one) => JSON.stringify(one));
      this.problem(`metadata ${name} must be ${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`);
    }
    return choice;
  }

  /** Two texts that belong together. */
  pair(first: string, second: string): readonly [string, string] | undefined {
    const [one, other] = [this.text(first), this.text(second)];
    if (one !== undefined && other !== undefined) return [one, other];
    if (one !== other) this.problem(`metadata ${first} and ${second} belong together`);
    return undefined;
  }

  /** `caCert`, `clientCert` and `clientKey`; `undefined` if none of them is given. */
  certificates(): Certificates | undefined {
    const [ca, [cert, key] = []] = [this.text('caCert'), this.pair('clientCert', 'clientKey')];
    for (const [name, text] of Object.entries({ caCert: ca, clientCert: cert, clientKey: key }))
      if (text?.includes('-----BEGIN ') === false) this.problem(`metadata ${name} must be in PEM`);
    return ca === undefined && cert === undefined ? undefined : definedOnly({ ca, cert, key });
  }
}
