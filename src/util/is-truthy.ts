const WORDS: ReadonlySet<string> = new Set(['y', 'yes', 'true', 't', 'on', '1']);

/** Whether Dapr takes the text for true. */
export function isTruthy(text: string): boolean {
  return WORDS.has(text.trim().toLowerCase());
}
