/** How bytes of a media type are put into a CloudEvent; `other` are types that are not known. */
export type ContentKind = 'event' | 'json' | 'text' | 'binary' | 'other';

/** The media type of a whole CloudEvent in JSON. */
export const CLOUD_EVENT_TYPE = 'application/cloudevents+json';

const TEXT_TYPES: ReadonlySet<string> = new Set([
  'multipart/form-data',
  ...['xml', 'xml-dtd', 'x-www-form-urlencoded', 'yaml', 'x-yaml', 'toml', 'graphql', 'sql', 'javascript'].map(
    ofApplication,
  ),
  ...['x-javascript', 'ecmascript', 'typescript', 'x-ndjson', 'ndjson', 'jsonl', 'json-seq', 'x-sh'].map(ofApplication),
]);
const BINARY_TYPES: ReadonlySet<string> = new Set(['octet-stream', 'cloudevents+protobuf'].map(ofApplication));

function ofApplication(subtype: string): string {
  return `application/${subtype}`;
}

/** The kind of a `Content-Type`: parameters and case are ignored. */
export function contentKind(contentType: string): ContentKind {
  if (contentType === 'application/json') return 'json';
  const end = contentType.indexOf(';');
  const mediaType = (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  if (mediaType === 'application/json') return 'json';
  if (mediaType === CLOUD_EVENT_TYPE) return 'event';
  if (mediaType.endsWith('+json')) return 'json';
  if (mediaType.startsWith('text/') || /\+(?:xml|yaml)$/.test(mediaType) || TEXT_TYPES.has(mediaType)) return 'text';
  return BINARY_TYPES.has(mediaType) ? 'binary' : 'other';
}
