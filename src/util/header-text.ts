/** Whether a header carries a text as it is: it would lose white space at the ends, and have other characters changed. */
export function isHeaderText(text: unknown): text is string {
  return typeof text === 'string' && /^[!-~]+(?: +[!-~]+)*$/.test(text);
}
