/** A host without the brackets that an IPv6 address has in a URL: sockets take it without them. */
export function withoutBrackets(host: string): string {
  return /^\[[\da-f:.]*:[\da-f:.]*(?:%[\w.-]+)?\]$/i.test(host) ? host.slice(1, -1) : host;
}
