/** What a token must be, for error messages; they never show the token. */
export const EXPECTED_TOKEN = 'visible ASCII characters without spaces, at least one';

/** Whether a header can carry a text as it is: it would lose a line end, and have other characters changed. */
export function isToken(text: unknown): text is string {
  return typeof text === 'string' && /^[!-~]+$/.test(text);
}
