/** Parses a boolean like Go's `strconv.ParseBool`, in any case; `undefined` if it is not one. */
export function parseGoBoolean(text: string): boolean | undefined {
  const word = text.toLowerCase();
  if (word === 'true' || word === '1' || word === 't') return true;
  if (word === 'false' || word === '0' || word === 'f') return false;
  return undefined;
}
