import fc from 'fast-check';
import { hostileJson, hostileText, hostileValue, mutated } from '../hostile.ts';

/** What a route takes. */
export type BodyKind = 'none' | 'data' | 'bulk' | 'job';

/** A body: text, bytes in base64, or so many times one character. */
export type Body = { readonly text: string } | { readonly base64: string } | { readonly repeat: number };

const LIMIT_BYTES = 4 * 1024 * 1024;

const text = (texts: fc.Arbitrary<string>): fc.Arbitrary<Body> => texts.map((one) => ({ text: one }));
const empty: Body = { text: '' };

const JSON_PIECES = ['{', '}', '[', ']', ',', ':', '"', '\\', '\\u0000', '\\ud800', '\u0000', '9e999', 'null', '\n'];

/** A sound value in most cases. */
function mostly<T>(sound: readonly T[], ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...sound) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
}

/** An object with the required and some of the other fields; now and then a field has a value of another type. */
function objectOf(
  fields: Readonly<Record<string, fc.Arbitrary<unknown>>>,
  required: readonly string[] = [],
): fc.Arbitrary<Record<string, unknown>> {
  const names = Object.keys(fields);
  const sound = fc.record(fields, { requiredKeys: [...required] });
  const damage = fc.option(fc.tuple(fc.constantFrom(...names, '__proto__', 'name', 'x'), hostileValue), { freq: 8 });
  return fc.tuple(sound, damage).map(([object, change]) => {
    const whole: Record<string, unknown> = { ...object };
    if (change !== null) Object.defineProperty(whole, change[0], { value: change[1], enumerable: true });
    return whole;
  });
}

const contentType = fc.constantFrom(
  ...[
    'application/json',
    'text/plain',
    'application/cloudevents+json',
    'application/octet-stream',
    'application/xml',
    '',
  ],
);

const cloudEvent = objectOf({
  specversion: fc.constant('1.0'),
  id: fc.string({ minLength: 1 }),
  source: fc.constant('shop'),
  type: fc.constantFrom('order.placed', 'x'),
  time: fc.constantFrom('2026-01-01T00:00:00Z', 'yesterday'),
  datacontenttype: contentType,
  data: fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant({ amount: 200, name: 'aaaab' })),
  subject: fc.string(),
  traceparent: fc.string(),
  expiration: fc.constantFrom('2099-01-01T00:00:00Z', '2000-01-01T00:00:00Z'),
});

const entry = objectOf(
  {
    entryId: fc.oneof(fc.nat({ max: 999 }).map(String), fc.string({ minLength: 1 })),
    event: fc.oneof(fc.string(), fc.jsonValue({ maxDepth: 2 }), cloudEvent),
    contentType: mostly(['application/json'], 'text/plain', 'application/cloudevents+json', 'image/png', ''),
    metadata: fc.dictionary(fc.constantFrom('ttlInSeconds', 'x', '__proto__'), fc.constantFrom('1', '60', '')),
  },
  ['entryId', 'event', 'contentType'],
);

const ODD_DURATIONS = ['0', '-1s', '-P1D', '9e9h', '2562047h47m16.8s', '0.000001ns', 'P99999Y'];
const ODD_INSTANTS = [
  '2099-12-31T23:59:59.999+23:59',
  '0000-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2020-01-01T00:00:00',
];
const soon = mostly(['1ms', '10ms', '1s', 'PT0.5S'], ...ODD_DURATIONS, ...ODD_INSTANTS);
const late = mostly(['1h30m', 'P1D', '2099-01-01T00:00:00Z'], ...ODD_DURATIONS, ...ODD_INSTANTS);
const ODD_SCHEDULES = [
  '@every 0.1ms',
  '0 0 0 30 2 *',
  'TZ=No/Where 0 0 2 * * *',
  '* * * * *',
  '@EVERY 1s',
  '60 * * * * *',
];
const schedule = mostly(
  ['@every 1ms', '@every 10ms', '@every 1h', '@daily', '* * * * * *', 'TZ=Europe/Rome 0 0 2 * * *', '0 0 0 29 2 *'],
  ...ODD_SCHEDULES,
);
const policy = mostly<object>(
  [{ drop: {} }, { constant: {} }, { constant: { max_retries: 2, interval: '1ms' } }],
  ...[{ constant: {}, drop: {} }, {}, { constant: { interval: '-1s' } }, { constant: { max_retries: -1 } }],
);

const job = objectOf({
  data: fc.jsonValue({ maxDepth: 2 }),
  schedule,
  dueTime: soon,
  repeats: mostly([1, 2, 3], 0, 2 ** 31, 2 ** 32),
  ttl: late,
  overwrite: mostly([true], false),
  failure_policy: policy,
}).map((fields) => withEnd(fields));

/** Nothing that runs without end: the runs of one request must not hold up those of the others. */
function withEnd(fields: Record<string, unknown>): Record<string, unknown> {
  if (!('schedule' in fields)) return fields;
  return 'repeats' in fields ? fields : { ...fields, repeats: 3 };
}

const asJson = (value: unknown): string => JSON.stringify(value) ?? '';

const bytes: fc.Arbitrary<Body> = fc
  .uint8Array({ maxLength: 40 })
  .map((some) => ({ base64: Buffer.from(some).toString('base64') }));

const huge: fc.Arbitrary<Body> = fc.constantFrom(
  { repeat: LIMIT_BYTES },
  { repeat: LIMIT_BYTES + 1 },
  { repeat: 70_000 },
  { repeat: 65_537 },
);

const multipart = fc.constant('--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n');

const any: fc.Arbitrary<Body> = fc.oneof(
  { weight: 60, arbitrary: text(hostileJson) },
  { weight: 60, arbitrary: text(hostileText) },
  { weight: 40, arbitrary: bytes },
  { weight: 10, arbitrary: text(multipart) },
  { weight: 10, arbitrary: fc.constant(empty) },
  { weight: 1, arbitrary: huge },
);

const DAMAGE = ['"', ...JSON_PIECES];

/** The bodies of a route: sound ones, damaged ones, others. */
export function bodyOf(kind: BodyKind): fc.Arbitrary<Body> {
  if (kind === 'none') return fc.oneof({ weight: 9, arbitrary: fc.constant(empty) }, { weight: 1, arbitrary: any });
  const sound = {
    data: fc.oneof(cloudEvent, fc.jsonValue({ maxDepth: 3 })).map(asJson),
    bulk: fc.array(entry, { maxLength: 6 }).map(asJson),
    job: job.map(asJson),
  }[kind];
  return fc.oneof({ weight: 6, arbitrary: text(mutated(sound, DAMAGE, 6)) }, { weight: 1, arbitrary: any });
}

/** The bytes of a body. */
export function bytesOf(body: Body): Buffer {
  if ('base64' in body) return Buffer.from(body.base64, 'base64');
  return 'text' in body ? Buffer.from(body.text) : Buffer.alloc(body.repeat, 'x');
}
