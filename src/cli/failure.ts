/** Exit codes, following shells and `env`. */
export const EXIT = { failed: 1, usage: 2, notExecutable: 126, notFound: 127, signalBase: 128 } as const;

/** An error message for the user of the command: without a stack, with advice if possible. */
export class CommandFailure extends Error {
  override readonly name: string = 'Failure';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
  }
}

/** A wrong command line: what is wrong with it, all of it that is known. */
class Misuse extends CommandFailure {
  readonly problems: readonly string[];

  constructor(problems: readonly string[], about: string) {
    super(`${problems.join('\n')}\nSee insidecar ${about} --help.`, EXIT.usage);
    this.problems = problems;
  }
}

/** The command line is wrong; `about` is the command whose help to read. */
export function misuse(problem: string, about = 'run'): CommandFailure {
  return new Misuse([problem], about);
}

/** Collects what is wrong with a command line, so that its user learns all of it at once. */
export class Problems {
  readonly #about: string;
  readonly #problems: string[] = [];

  constructor(about = 'run') {
    this.#about = about;
  }

  get areNone(): boolean {
    return this.#problems.length === 0;
  }

  add(problem: string): void {
    this.#problems.push(problem);
  }

  /** What `read` answers; `undefined` if that is a misuse. @throws what is none */
  of<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Misuse)) throw error;
      this.#problems.push(...error.problems);
      return undefined;
    }
  }

  /** @throws Failure with all problems, if there are any. */
  check(): void {
    if (this.#problems.length > 0) throw new Misuse([...new Set(this.#problems)], this.#about);
  }
}
