import fc from 'fast-check';
import { hostileText } from '../hostile.ts';
import type { BodyKind } from './bodies.ts';

type Header = readonly [name: string, value: string];

/** What HTTP allows in a value; a socket gets the others, too. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const NOT_IN_VALUES = /[\x00-\x08\x0a-\x1f\x7f]/g;
const value = hostileText.map((text) => Buffer.from(text.replace(NOT_IN_VALUES, '')).toString('latin1').trim());

const contentType: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    ...[
      'application/json',
      'application/json; charset=utf-8',
      'Application/JSON ; Charset="utf-16"',
      'text/plain',
      'text/xml',
    ],
    ...['application/cloudevents+json', 'application/cloudevents-batch+json', 'application/octet-stream', 'image/png'],
    ...[
      'multipart/form-data; boundary=b',
      'application/x-www-form-urlencoded',
      'application/vnd.x+json',
      'x',
      '/',
      ';',
      'a/b/c',
    ],
    ...['application/grpc', `text/plain; x="${'y'.repeat(3_000)}"`],
  ),
  value,
);

const TRACEPARENTS = [
  ...[
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  ],
  ...['00-00000000000000000000000000000000-0000000000000000-00', '00-x', ''],
];

/** Attributes of CloudEvents' binary mode. */
const attribute: fc.Arbitrary<Header> = fc.tuple(
  fc
    .tuple(
      fc.constantFrom('ce_', 'ce-'),
      fc.constantFrom('id', 'source', 'type', 'specversion', 'time', 'subject', 'dataschema', 'x'),
    )
    .map((parts) => parts.join('')),
  fc.oneof(fc.constantFrom('1.0', 'x', 'order.placed', '%41', '%', '%ff', '2026-01-01T00:00:00Z'), value),
);

const soundBinary: readonly Header[] = [
  ...[['ce_id', 'c-1'] as const, ['ce_source', 'shop'] as const],
  ...[['ce_type', 'order.placed'] as const, ['ce_specversion', '1.0'] as const],
];

const ours: fc.Arbitrary<Header> = fc.tuple(
  fc
    .tuple(
      fc.constantFrom('sidecar-', 'dapr-'),
      fc.constantFrom(
        'app-id',
        'caller-app-id',
        'caller-namespace',
        'callee-app-id',
        'identity',
        'peer',
        'api-token',
        'forward',
      ),
    )
    .map((parts) => parts.join('')),
  fc.oneof(fc.constantFrom('shop', 'other', 'admin', '{upstream}'), value),
);

const others: fc.Arbitrary<Header> = fc.oneof(
  fc.tuple(fc.constant('traceparent'), fc.constantFrom(...TRACEPARENTS)),
  fc.tuple(fc.constant('tracestate'), fc.oneof(fc.constant('a=b,c=d'), value)),
  fc.tuple(
    fc.constant('authorization'),
    fc.constantFrom('Basic c2lkZWNhci1hcHAtaWQ6c2hvcA==', 'Basic ZGFwci1hcHAtaWQ6c2hvcA==', 'Basic !', 'Bearer x'),
  ),
  fc.tuple(fc.constantFrom('origin', 'access-control-request-method', 'expect', 'te', 'upgrade', 'forwarded'), value),
  fc.tuple(fc.constant('connection'), fc.constantFrom('close', 'keep-alive', 'upgrade', 'x-canary, content-type')),
  fc.tuple(
    fc.constantFrom('accept-encoding', 'content-encoding', 'range', 'if-none-match', 'cookie', '__proto__'),
    value,
  ),
);

const canary: Header = ['x-canary', 'fuzz'];

/** The header fields of a request; each name once, as most servers have them. */
export function headersOf(kind: BodyKind): fc.Arbitrary<readonly Header[]> {
  const usual =
    kind === 'none' ? fc.constant<Header[]>([]) : fc.constant<Header[]>([['content-type', 'application/json']]);
  const typed = contentType.map((type): Header[] => [['content-type', type]]);
  const extra = fc.oneof(
    { weight: 9, arbitrary: fc.constant<readonly Header[]>([]) },
    { weight: 2, arbitrary: fc.array(fc.oneof(attribute, ours, others), { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: fc.array(attribute, { maxLength: 2 }).map((some) => [...soundBinary, ...some]) },
  );
  return fc
    .tuple(fc.oneof({ weight: 2, arbitrary: usual }, { weight: 1, arbitrary: typed }), extra)
    .map(([first, rest]) => {
      const byName = new Map([canary, ...first, ...rest]);
      return [...byName];
    });
}
