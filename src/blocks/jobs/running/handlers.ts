import { SidecarError } from '../../../errors.ts';
import type { SlotLimit } from '../../../util/run-limits.ts';
import type { StandardSchema } from '../../../util/standard-schema.ts';
import { ANY } from '../model/define-job.ts';
import type { JobHandler } from '../model/job.ts';

/** A function for jobs, and its time limit. */
export interface HandledJob {
  readonly handler: JobHandler;
  /** Checks the data. */
  readonly schema: StandardSchema | undefined;
  /** In milliseconds; 0 for no limit. */
  readonly timeLimitMs: number;
  /** Whether to try again after what was thrown. */
  readonly retryIf: ((thrown: unknown) => boolean) | undefined;
  /** Limits of all its jobs together, over all hosts. */
  readonly limits: readonly SlotLimit[];
}

/** A function, and the name or pattern of its jobs. */
export interface RegisteredHandler extends HandledJob {
  readonly pattern: string;
}

interface Pattern {
  readonly text: string;
  readonly parts: readonly string[];
  /** The number of literal characters: the pattern with the most wins. */
  readonly weight: number;
  readonly handled: RegisteredHandler;
}

/** Functions for jobs, by name or by a pattern in which `*` stands for any characters. */
export class JobHandlers {
  readonly #byName = new Map<string, RegisteredHandler>();
  #patterns: readonly Pattern[] = [];

  /**
   * Adds a function.
   *
   * @throws SidecarError `ERR_CONFIGURATION` when the name or pattern has a function already.
   */
  add(pattern: string, added: HandledJob): void {
    if (this.#byName.has(pattern) || this.#patterns.some(({ text }) => text === pattern))
      throw new SidecarError('ERR_CONFIGURATION', `jobs ${JSON.stringify(pattern)} have a handler already`);
    const handled = { ...added, pattern };
    if (!pattern.includes(ANY)) return void this.#byName.set(pattern, handled);
    const parts = pattern.split(ANY);
    const weight = parts.reduce((sum, part) => sum + part.length, 0);
    const patterns = [...this.#patterns, { text: pattern, parts, weight, handled }];
    this.#patterns = patterns.sort((a, b) => b.weight - a.weight);
  }

  remove(pattern: string): void {
    this.#byName.delete(pattern);
    this.#patterns = this.#patterns.filter(({ text }) => text !== pattern);
  }

  /** The function for a job: by name, else by the pattern with the most literal characters. */
  find(name: string): RegisteredHandler | undefined {
    return this.#byName.get(name) ?? this.#patterns.find(({ parts }) => matches(name, parts))?.handled;
  }
}

function matches(name: string, parts: readonly string[]): boolean {
  const [first = '', ...rest] = parts;
  const last = rest.pop() ?? '';
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return at <= end;
}
