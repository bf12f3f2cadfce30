import type { SidecarRequest } from '../http/message.ts';

const PREFIX = 'metadata.';

/** The `metadata.<name>` parameters of a query, without the prefix. If one is repeated, the first counts. */
export function queryMetadata(request: SidecarRequest): Readonly<Record<string, string>> {
  if (request.search === '') return {};
  const given = [...request.query].filter(([name]) => name.startsWith(PREFIX) && name.length > PREFIX.length);
  // `fromEntries` makes any name a property of its own; the last entry of a name counts.
  return Object.fromEntries(given.reverse().map(([name, value]) => [name.slice(PREFIX.length), value]));
}
