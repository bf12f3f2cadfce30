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

/** The command line is wrong; `about` is the command whose help to read. */
export function misuse(message: string, about = 'run'): CommandFailure {
  return new CommandFailure(`${message}\nSee insidecar ${about} --help.`, EXIT.usage);
}
