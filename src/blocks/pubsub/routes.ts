import { readContent } from '../../http/content.ts';
import { headerOf, NO_CONTENT, type SidecarRequest, type SidecarResponse } from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';
import { traceOfHeaders } from '../../http/trace-headers.ts';
import type { Wire } from '../../wire.ts';
import { metadataOfQuery } from '../request-metadata.ts';
import { parseBulkEntries } from './publishing/bulk-entries.ts';
import { binaryAttributes } from './publishing/cloud-event.ts';
import { contentKind } from './publishing/content-type.ts';
import type { PublishDestination } from './publishing/envelope.ts';
import { maxBulkPubBytes, mergedMetadata, publishForm, publishRules } from './publishing/publish-metadata.ts';
import type { PubSubService } from './pubsub-service.ts';

/** A pub/sub component must not have this name: its publish routes would clash with those of bulk publishing. */
export const RESERVED_PUBSUB_NAME = 'bulk';

const METHODS = ['POST', 'PUT'];
const DEFAULT_CONTENT_TYPE = 'text/plain';

interface PublishRouteOptions {
  readonly wire: Wire;
  readonly bodyLimitBytes: number;
}

/** The routes of publishing. */
export function pubsubRoutes(pubsub: PubSubService, wire: Wire, bodyLimitBytes: number): Route[] {
  const options = { wire, bodyLimitBytes };
  const single = (request: SidecarRequest, to: PublishDestination): Promise<SidecarResponse> =>
    publish(pubsub, request, to, options);
  const bulk = (request: SidecarRequest, to: PublishDestination): Promise<SidecarResponse> =>
    publishBulk(pubsub, request, to, options);
  return [
    route('publish', METHODS, '/v1.0/publish', (request) => single(request, { pubsubName: '', topic: '' })),
    route('publish', METHODS, '/v1.0/publish/:pubsubName/*topic', single),
    ...['v1.0', ...wire.aliases.bulkPublish].flatMap((version) => [
      route('publish', METHODS, `/${version}/publish/${RESERVED_PUBSUB_NAME}`, (request) =>
        bulk(request, { pubsubName: '', topic: '' }),
      ),
      route(
        'publish',
        METHODS,
        `/${version}/publish/${RESERVED_PUBSUB_NAME}/:pubsubName/*topic` as '/:pubsubName/*topic',
        bulk,
      ),
    ]),
  ];
}

async function publish(
  pubsub: PubSubService,
  request: SidecarRequest,
  to: PublishDestination,
  { wire, bodyLimitBytes }: PublishRouteOptions,
): Promise<SidecarResponse> {
  const metadata = metadataOfQuery(request.search, () => request.query, publishForm(wire));
  const target = pubsub.target(to, metadata);
  const { address } = target;
  const rules = publishRules(metadata, to.pubsubName);
  const bytes = await readContent(request, bodyLimitBytes);
  const contentType = headerOf(request.headers, 'content-type') || DEFAULT_CONTENT_TYPE;
  const isEvent = contentKind(contentType) === 'event';
  const binary = isEvent ? undefined : binaryAttributes(request.headers, address);
  await pubsub.send(target, {
    address,
    bytes,
    contentType,
    metadata,
    rules,
    binary,
    trace: traceOfHeaders(request.headers),
  });
  return NO_CONTENT;
}

async function publishBulk(
  pubsub: PubSubService,
  request: SidecarRequest,
  to: PublishDestination,
  { wire, bodyLimitBytes }: PublishRouteOptions,
): Promise<SidecarResponse> {
  const metadata = metadataOfQuery(request.search, () => request.query, publishForm(wire));
  const target = pubsub.target(to, metadata, true);
  const { address } = target;
  publishRules(metadata, to.pubsubName);
  const maxBytes = maxBulkPubBytes(metadata, to.pubsubName);
  const body = await readContent(request, bodyLimitBytes);
  const trace = traceOfHeaders(request.headers);
  const entries = parseBulkEntries(body, address, wire).map(({ entryId, bytes, contentType, metadata: own }) => {
    const merged = mergedMetadata(metadata, own);
    const rules = publishRules(merged, to.pubsubName);
    return { entryId, publish: { address, bytes, contentType, metadata: merged, rules, trace } };
  });
  await pubsub.sendBulk(target, entries, maxBytes);
  return NO_CONTENT;
}
