import type { OutboxEvent } from '../../../components/key-value.ts';
import { messageOf } from '../../../errors.ts';
import { asBuffer } from '../../../http/body.ts';
import { formatInstant } from '../../../util/duration.ts';
import { isProjection, type StateChange } from '../change.ts';
import { malformed, quoted } from '../errors.ts';
import type { OutboxDestination } from './publisher.ts';

/** The attributes that all events of a store have. */
export interface EventSource {
  readonly appId: string;
  /** `type` of the events. */
  readonly eventType: string;
  readonly now: () => number;
  /** An ID for each transaction, greater than those before. */
  readonly newTransactionId: () => string;
  readonly destination: OutboxDestination;
  /** Throws if a CloudEvent can never be published. */
  readonly check: (event: Uint8Array) => void;
}

/** Names that CloudEvents allows for attributes. */
const ATTRIBUTE = /^[a-z0-9]+$/;
/** Attributes that the metadata of an operation do not set. */
const FIXED: ReadonlySet<string> = new Set(['id', 'specversion', 'data', 'topic', 'pubsubname']);
const JSON_TYPE = /^[^;]*[/+]json\s*(?:;|$)/i;
const INDEX_DIGITS = 5;
const NEW_LINE = 0x0a;

/**
 * The events of a transaction: one for each upsert, in order, with the value of its projection if it has one. Their IDs
 * are decided here: an event that is published twice is the same event.
 *
 * @throws SidecarError `ERR_MALFORMED_REQUEST` for a projection without an upsert of its key, and for an event that can
 * never be published: it would hold up all later ones
 */
export function eventsOf(changes: readonly StateChange[], source: EventSource): readonly OutboxEvent[] {
  const projections = projectionsOf(changes);
  const at = source.now();
  const transaction = source.newTransactionId();
  const upserts = changes.filter((change) => change.kind === 'upsert' && !isProjection(change));
  return upserts.map((change, index) => {
    const id = `${transaction}-${String(index).padStart(INDEX_DIGITS, '0')}`;
    const shown = projections.get(change.key) ?? change;
    const event = cloudEvent(id, at, { change, shown }, source);
    try {
      source.check(event);
    } catch (cause) {
      throw malformed(`the event of key ${quoted(change.key)} cannot be published: ${messageOf(cause)}`, cause);
    }
    return { id, bytes: withHead(source.destination, change.key, event) };
  });
}

/** The first projection of each key. */
function projectionsOf(changes: readonly StateChange[]): ReadonlyMap<string, StateChange> {
  const projections = new Map<string, StateChange>();
  for (const change of changes)
    if (isProjection(change) && !projections.has(change.key)) projections.set(change.key, change);
  if (projections.size === 0) return projections;
  const saved = new Set(
    changes.filter((change) => change.kind === 'upsert' && !isProjection(change)).map(({ key }) => key),
  );
  for (const key of projections.keys())
    if (!saved.has(key)) throw malformed(`the projection of key ${quoted(key)} has no upsert of that key`);
  return projections;
}

function cloudEvent(
  id: string,
  at: number,
  { change, shown }: { readonly change: StateChange; readonly shown: StateChange },
  { appId, eventType, destination }: EventSource,
): Buffer {
  const text = asBuffer(shown.value).toString();
  const isText = text.startsWith('"');
  const contentType = shown.contentType ?? (isText ? 'text/plain' : 'application/json');
  const attributes = new Map<string, string>([
    ['source', appId],
    ['type', eventType],
    ['time', formatInstant(at)],
    ['datacontenttype', contentType],
  ]);
  for (const [name, value] of Object.entries(change.metadata))
    if (ATTRIBUTE.test(name) && !FIXED.has(name)) attributes.set(name, value);
  const fixed = { id, specversion: '1.0', topic: destination.topic, pubsubname: destination.pubsubName };
  const head = JSON.stringify({ ...fixed, ...Object.fromEntries(attributes) });
  const isJson = JSON_TYPE.test(attributes.get('datacontenttype') ?? contentType);
  const data = isJson || isText ? text : JSON.stringify(text);
  return Buffer.from(`${head.slice(0, -1)},"data":${data}}`);
}

function withHead({ pubsubName, topic }: OutboxDestination, key: string, event: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify([pubsubName, topic, key])}\n`), event]);
}

/** An event that was kept. */
export interface KeptEvent {
  readonly to: OutboxDestination;
  /** The key whose value it tells of. */
  readonly key: string;
  /** The CloudEvent in JSON. */
  readonly event: Uint8Array;
}

/** The parts of an event that was kept. */
export function openEvent(bytes: Uint8Array): KeptEvent {
  const end = bytes.indexOf(NEW_LINE);
  const head = JSON.parse(asBuffer(bytes.subarray(0, end)).toString()) as readonly string[];
  const [pubsubName = '', topic = '', key = ''] = head;
  return { to: { pubsubName, topic }, key, event: bytes.subarray(end + 1) };
}
