import fc from 'fast-check';
import type { WireName } from '../../../src/index.ts';
import { edited, edits, HOSTILE_ESCAPES, hostileText, mutated } from '../hostile.ts';
import { type Body, type BodyKind, bodyOf } from './bodies.ts';
import { headersOf } from './headers.ts';

/** A request as it is generated: all of it can be printed, and read again. */
export interface Spec {
  readonly method: string;
  /** Path and query, as they are sent. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Body;
}

/** A route of the contract: its method, the parts of its path, what its body is. */
interface Shape {
  readonly method: string;
  readonly parts: readonly (string | fc.Arbitrary<string>)[];
  readonly body: BodyKind;
  readonly weight: number;
  /** A query that the route knows. */
  readonly query?: fc.Arbitrary<string>;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PURGE', 'PROPFIND'];

/** The first in most cases. */
function mostly(first: string, ...rest: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof({ weight: 8, arbitrary: fc.constant(first) }, { weight: 1, arbitrary: fc.constantFrom(...rest) });
}

const pubsubName = mostly('pubsub', 'guarded', 'nobody');
const topic = fc.constantFrom('orders', 'orders', 'bulk', 'raw', 'ordered', 'dead', 'secret', 'none', 'a/b');
const jobName = fc.nat({ max: 9 }).map((number) => `job-${number}`);
const workflow = fc.constantFrom('echo', 'wait', 'fail', 'parent', 'nobody');
const instance = fc.nat({ max: 9 }).map((number) => `instance-${number}`);
const attribute = fc.nat({ max: 20 }).map((number) => `attribute-${number}`);
/** `{upstream}` is replaced by the address of a server of the test. */
const target = fc.constantFrom(
  'shop',
  'shop',
  'shop',
  'other',
  'shop.default',
  'backend',
  '{upstream}',
  '{upstream-escaped}',
);

function shape(method: string, parts: Shape['parts'], body: BodyKind = 'none', weight = 1): Shape {
  return { method, parts, body, weight };
}

/** The routes under one version. */
function versioned(version: string, component: string): Shape[] {
  const instances = [version, 'workflows', component, instance];
  return [
    shape('POST', [version, 'publish', pubsubName, topic], 'data', 6),
    shape('POST', [version, 'publish', 'bulk', pubsubName, topic], 'bulk', 4),
    shape('POST', [version, 'jobs', jobName], 'job', 4),
    shape('GET', [version, 'jobs', jobName]),
    shape('DELETE', [version, 'jobs', jobName]),
    {
      ...shape('POST', [version, 'workflows', component, workflow, 'start'], 'data', 5),
      query: instance.map((id) => `?instanceID=${id}`),
    },
    shape('POST', [...instances, 'raiseEvent', fc.constantFrom('go', 'GO', 'stop')], 'data', 2),
    ...['terminate', 'pause', 'resume', 'purge'].map((operation) => shape('POST', [...instances, operation])),
    shape('GET', instances),
    shape(
      'POST',
      [version, 'invoke', target, 'method', fc.constantFrom('echo', 'a/b/c', 'slow', '200', '404')],
      'data',
      4,
    ),
    shape('GET', [version, 'invoke', target, 'method', 'echo'], 'none', 2),
    shape('GET', [version, 'metadata']),
    shape('PUT', [version, 'metadata', attribute], 'data', 2),
    shape('GET', [version, 'healthz']),
    shape('GET', [version, 'healthz', 'outbound']),
    shape('GET', [version, fc.constantFrom('state', 'secrets', 'bindings', 'actors', 'lock'), 'x']),
  ];
}

function shapesOf(wire: WireName): readonly Shape[] {
  const component = wire === 'dapr' ? 'dapr' : 'sidecar';
  return [
    ...versioned('v1.0', component)
      .filter(({ parts }) => wire === 'dapr' || parts[1] !== 'jobs')
      .map((one) => ({ ...one, weight: one.weight * 3 })),
    ...versioned('v1.0-alpha1', component).filter(({ parts }) => wire === 'dapr' || parts[1] === 'jobs'),
    ...versioned('v1.0-beta1', component).filter(({ parts }) => wire === 'dapr' && parts[1] === 'workflows'),
    shape('POST', ['v2.0', 'publish', pubsubName, topic], 'data'),
    shape('GET', ['placement', 'state']),
    shape('GET', ['anything'], 'data'),
    shape('POST', ['v1.0', 'shutdown']),
  ];
}

const isTrue = fc.constantFrom('true', 'false', '1', '0', 't', 'f');
const seconds = fc.constantFrom('60', '60', '5', '1', '0', '-5', '1m30s', '1e3', '99999999999999999999');
const parameter: fc.Arbitrary<readonly [string, string]> = fc.oneof(
  fc.tuple(
    fc.constant('metadata.rawPayload'),
    fc.oneof({ weight: 4, arbitrary: isTrue }, { weight: 1, arbitrary: hostileText }),
  ),
  fc.tuple(fc.constantFrom('metadata.ttlInSeconds', 'metadata.ttl'), fc.oneof(seconds, hostileText)),
  fc.tuple(fc.constant('metadata.maxBulkPubBytes'), fc.constantFrom('1', '1000', '0', '-1', 'x', '1e9')),
  fc.tuple(
    fc
      .constantFrom('id', 'source', 'type', 'subject', 'traceid', 'traceparent', 'tracestate', 'time')
      .map((name) => `metadata.cloudevent.${name}`),
    fc.oneof(fc.constantFrom('x', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'a=b'), hostileText),
  ),
  fc.tuple(
    hostileText.map((name) => `metadata.${name}`),
    hostileText,
  ),
  fc.tuple(fc.constantFrom('instanceID', 'appid', 'instanceId'), fc.oneof(instance, fc.constant('shop'), hostileText)),
  fc.tuple(hostileText, hostileText),
);

const query: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: fc.constant('') },
  {
    weight: 4,
    arbitrary: fc
      .array(parameter, { minLength: 1, maxLength: 3 })
      .map((pairs) => `?${pairs.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join('&')}`),
  },
  { weight: 1, arbitrary: edits(HOSTILE_ESCAPES).map((changes) => `?${edited('metadata.ttl=5&x=%41', changes)}`) },
);

/** Like `encodeURIComponent`, also of what is no text: half of a character becomes the sign for what cannot be read. */
function escaped(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString());
}

function pathOf({ parts }: Shape): fc.Arbitrary<string> {
  const sound = fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)));
  const foreign = fc.tuple(sound, fc.nat(), hostileText).map(([segments, at, text]) => {
    const index = at % segments.length;
    return segments.map((segment, position) => (position === index ? escaped(text) : segment));
  });
  const joined = fc
    .oneof({ weight: 9, arbitrary: sound }, { weight: 1, arbitrary: foreign })
    .map((segments) => `/${segments.join('/')}`);
  return mutated(joined, HOSTILE_ESCAPES, 9);
}

function searchOf(shaped: Shape): fc.Arbitrary<string> {
  if (shaped.query === undefined) return query;
  return fc.oneof({ weight: 4, arbitrary: shaped.query }, { weight: 1, arbitrary: query });
}

function specOf(shaped: Shape): fc.Arbitrary<Spec> {
  const method = fc.oneof(
    { weight: 12, arbitrary: fc.constant(shaped.method) },
    { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
  );
  return fc.record({
    method,
    target: fc.tuple(pathOf(shaped), searchOf(shaped)).map(([path, search]) => path + search),
    headers: headersOf(shaped.body),
    body: bodyOf(shaped.body),
  });
}

/** Requests of a wire. */
export function requests(wire: WireName): fc.Arbitrary<Spec> {
  return fc.oneof(...shapesOf(wire).map((one) => ({ weight: one.weight, arbitrary: specOf(one) })));
}
