/**
 * Names that a message's metadata keep as header fields: one word, and the names that components give. Whatever else has
 * a hyphen or an underscore may be what a proxy or a framework sets and the application trusts (`x-real-ip`,
 * `remote_user`), so it gets a prefix that none of them uses.
 */
const PLAIN = /^(?:[a-z0-9]+|__[a-z]+|ce_[a-z0-9]+|cloudevent\.[a-z]+|mqtt-topic)$/;
const PREFIX = 'metadata-';

/** Fields of requests whose name is one word and that servers, proxies or frameworks act on. */
const HTTP_WORDS: ReadonlySet<string> = new Set([
  ...['accept', 'apikey', 'authorization', 'b3', 'baggage', 'connection', 'cookie', 'cookie2', 'date', 'depth'],
  ...['destination', 'digest', 'dnt', 'dpop', 'expect', 'forwarded', 'from', 'host', 'if', 'im', 'negotiate', 'origin'],
  ...['overwrite', 'pragma', 'prefer', 'proxy', 'pubsubname', 'range', 'referer', 'referrer', 'signature', 'slug'],
  ...[
    'soapaction',
    'te',
    'timeout',
    'traceparent',
    'tracestate',
    'trailer',
    'upgrade',
    'uri',
    'user',
    'via',
    'warning',
  ],
]);

/** The name of the header field for a metadata key. */
export function metadataHeaderName(key: string): string {
  const name = key.toLowerCase();
  return PLAIN.test(name) && !HTTP_WORDS.has(name) ? name : PREFIX + name;
}
