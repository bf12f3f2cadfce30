/** How bytes of a media type are put into a CloudEvent. */
export type ContentKind = 'event' | 'json' | 'text' | 'binary';

/** The media type of a whole CloudEvent in JSON. */
export const CLOUD_EVENT_TYPE = 'application/cloudevents+json';

const TEXT_TYPES = new Set(['application/xml', 'application/x-www-form-urlencoded', 'multipart/form-data']);

/** The kind of a `Content-Type`: parameters and case are ignored. */
export function contentKind(contentType: string): ContentKind {
  if (contentType === 'application/json') return 'json';
  const end = contentType.indexOf(';');
  const mediaType = (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  if (mediaType === 'application/json') return 'json';
  if (mediaType === CLOUD_EVENT_TYPE) return 'event';
  if (mediaType.endsWith('+json')) return 'json';
  return mediaType.startsWith('text/') || mediaType.endsWith('+xml') || TEXT_TYPES.has(mediaType) ? 'text' : 'binary';
}
