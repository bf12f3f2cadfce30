/** Exit codes, as shells and `env` use them. */
export const EXIT = { failed: 1, usage: 2, notExecutable: 126, notFound: 127, signalBase: 128 } as const;

/** Why the command cannot go on, in words for its user: no stack, but with what to do where that is known. */
export class Failure extends Error {
  override readonly name: string = 'Failure';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
  }
}

/** The command line is wrong; `about` names the command whose help tells more. */
export function misuse(message: string, about = 'run'): Failure {
  return new Failure(`${message}\nSee insidecar ${about} --help.`, EXIT.usage);
}
