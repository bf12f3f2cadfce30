import { SidecarError } from '../../errors.ts';
import { headerOf } from '../../http/message.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import { checkLimit } from '../../util/check-limit.ts';
import { isJsonType } from '../../util/json-type.ts';
import { checkFields, fieldNames } from '../../util/known-fields.ts';
import type { CallRecord, MessageDetail, MessageRecord, Overview, PublishBody, RecordsReply } from '../api/live.ts';
import type { MessageEntry } from '../recorder/entries.ts';
import { readFilter } from '../recorder/query.ts';
import type { Recorder } from '../recorder/recorder.ts';
import type { ApiAnswer, ApiCall, ApiRoute } from '../route.ts';
import { AttentionFinder } from './attention.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Compression would hold events back, and so would a proxy that collects a response.
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

/** The routes about what the process has seen. */
export function liveRoutes(sidecar: Sidecar, recorder: Recorder): readonly ApiRoute[] {
  const finder = new AttentionFinder(sidecar);
  return [
    get('overview', async () => ({ json: await overview(recorder, finder) })),
    get('messages', async ({ query }) => ({ json: await records<MessageRecord>(recorder, query, 'message') })),
    get('calls', async ({ query }) => ({ json: await records<CallRecord>(recorder, query, 'call') })),
    get('messages/one', async ({ query }) => ({ json: await detail(sidecar, recorder, query.get('key') ?? '') })),
    get('live', (call) => live(recorder, call)),
    {
      method: 'POST',
      path: 'messages',
      needs: 'write',
      answer: async ({ body }) => {
        await publish(sidecar, body);
        return { json: undefined };
      },
    },
  ];
}

function get(path: string, answer: ApiRoute['answer']): ApiRoute {
  return { method: 'GET', path, needs: 'read', answer };
}

async function overview(recorder: Recorder, finder: AttentionFinder): Promise<Overview> {
  recorder.watch();
  const attention = await finder.find();
  return { ...recorder.rates(), attention, recent: recorder.recent() };
}

async function records<R extends MessageRecord | CallRecord>(
  recorder: Recorder,
  query: URLSearchParams,
  kind: R['kind'],
): Promise<RecordsReply<R>> {
  const filter = readFilter(query, kind);
  const limit = query.get('limit') === null ? DEFAULT_LIMIT : Number(query.get('limit') || Number.NaN);
  checkLimit(limit, MAX_LIMIT);
  const before = wholeNumber(query, 'cursor');
  const { recordingSince } = recorder;
  recorder.watch();
  const { records: list, cursor } = await recorder.page(filter, limit, before);
  const { size: kept, capacity, hasDropped } = recorder.kept;
  return {
    // The filter lets no other kind through.
    records: list as readonly R[],
    ...(cursor === undefined ? undefined : { cursor: String(cursor) }),
    kept,
    capacity,
    hasDropped,
    ...(recordingSince === undefined ? undefined : { recordingSince }),
  };
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new SidecarError('ERR_BAD_REQUEST', `${name} is ${JSON.stringify(value)}: expected the one of a reply`);
}

async function detail(sidecar: Sidecar, recorder: Recorder, key: string): Promise<MessageDetail> {
  recorder.watch();
  const entry = recorder.find(key);
  if (entry?.kind !== 'message')
    throw new SidecarError(
      'ERR_NOT_FOUND',
      `there is no message of key ${JSON.stringify(key)}: it may have been dropped`,
    );
  const { attributes, payload } = entry.payload.view();
  // Messages that no rule can be asked about, such as data that are nested too deep, are shown all the same.
  const subscriptions = await explained(sidecar, entry, attributes).catch(() => []);
  return { record: entry.record(), payload, attributes, subscriptions };
}

/** The present subscriptions' result for it. They do not see masked or cut parts. */
async function explained(
  { pubsub }: Sidecar,
  { pubsubName, topic, payload }: MessageEntry,
  attributes: MessageDetail['attributes'],
): Promise<MessageDetail['subscriptions']> {
  const { format, value, isCut } = payload.view().payload;
  const data = isCut || format === 'hidden' ? undefined : format === 'json' ? (JSON.parse(value) as unknown) : value;
  if (Object.keys(attributes).length === 0) return pubsub.explain(pubsubName, topic, data ?? '').subscriptions;
  const { CloudEvent: eventClass } = await import('cloudevents');
  const { data_base64: _bytes, ...rest } = attributes;
  return pubsub.explain(pubsubName, topic, new eventClass({ ...rest, ...dataMember(format, data) }, false))
    .subscriptions;
}

function dataMember(format: string, data: unknown): object {
  if (data === undefined) return {};
  return format === 'base64' ? { data_base64: data } : { data };
}

function live(recorder: Recorder, { query, request }: ApiCall): ApiAnswer {
  const filter = readFilter(query);
  const lastId = headerOf(request.headers, 'last-event-id');
  const after = wholeNumber(lastId === undefined ? query : new URLSearchParams({ after: lastId }), 'after');
  const stream = recorder.stream(filter, after);
  return { response: { status: 200, headers: STREAM_HEADERS, body: stream, signal: stream.signal } };
}

const PUBLISH_FIELDS = fieldNames<PublishBody>({
  pubsubName: true,
  topic: true,
  data: true,
  contentType: true,
  metadata: true,
});

async function publish({ pubsub }: Sidecar, body: unknown): Promise<void> {
  checkFields(body, PUBLISH_FIELDS, 'the body');
  const { pubsubName, topic, data, contentType = 'application/json', metadata } = body as Partial<PublishBody>;
  const texts = { pubsubName, topic, data, contentType };
  for (const [name, value] of Object.entries(texts))
    if (typeof value !== 'string') throw invalid(`${name} is ${JSON.stringify(value)}: expected text`);
  if (metadata !== undefined && !isTextByName(metadata)) throw invalid('metadata: expected an object of texts');
  if (isJsonType(contentType) && !isJson(String(data)))
    throw invalid(`data is no JSON text, but the content type is ${contentType}`);
  await pubsub.publish(String(pubsubName), String(topic), String(data), {
    contentType,
    ...(metadata === undefined ? undefined : { metadata }),
  });
}

function isTextByName(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((one) => typeof one === 'string');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function invalid(problem: string): SidecarError {
  return new SidecarError('ERR_BAD_REQUEST', problem);
}
