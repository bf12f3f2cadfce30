/** Text that is not ASCII is percent-encoded: no two parties agree on its bytes in a header. */
export function asHeaderValue(text: string): string {
  return /^[!-~](?:[ -~]*[!-~])?$/.test(text) ? text : encodeURIComponent(Buffer.from(text).toString());
}
