/** The application did not answer in time. */
export class TimeLimitError extends Error {
  /** Where the limit can be changed, for the log. */
  readonly remedy: string | undefined;

  constructor(timeLimitMs: number, remedy: string | undefined) {
    super(`no answer within ${timeLimitMs} ms`);
    this.remedy = remedy;
  }
}
