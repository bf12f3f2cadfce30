/** Parses the URL of a server; `undefined` if it has another protocol (such as `amqp:`) or parts that cannot be decoded. */
export function serverUrl(text: string, protocols: readonly string[]): URL | undefined {
  try {
    const url = new URL(text);
    // Throws for a percent sign that stands for itself.
    decodeURIComponent(url.username + url.password + url.pathname);
    return protocols.includes(url.protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}

/** The host of a URL as sockets take it. */
export function hostOf({ hostname }: URL): string {
  return hostname.replaceAll(/^\[|\]$/g, '');
}

/** A part of a URL; `undefined` if it is empty. */
export function urlPart(part: string | undefined): string | undefined {
  return part === undefined || part === '' ? undefined : decodeURIComponent(part);
}
