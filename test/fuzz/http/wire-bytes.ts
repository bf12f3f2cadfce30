import fc from 'fast-check';
import type { WireName } from '../../../src/index.ts';
import { place } from '../hostile.ts';
import { bytesOf } from './bodies.ts';
import { requests, type Spec } from './grammar.ts';

/** How the end of a body is told; all but the first two are wrong. */
const FRAMINGS = [
  'length',
  'chunked',
  'short',
  'long',
  'both',
  'twice',
  'none',
  'bad-chunk',
  'no-end',
  'negative',
] as const;

export type Framing = (typeof FRAMINGS)[number];

/** What is done to the bytes: `remove` bytes at a place between 0 and 1 are replaced by others. */
interface ByteEdit {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

/** What is sent on one connection. */
export interface Connection {
  readonly specs: readonly Spec[];
  readonly framings: readonly Framing[];
  readonly edits: readonly ByteEdit[];
  /** Where the bytes are cut into pieces, between 0 and 1. */
  readonly cuts: readonly number[];
  /** How the client goes: it waits for the answers, or breaks off after a part. */
  readonly ending: 'end' | 'abort' | 'reset';
}

const HOSTILE_BYTES = [
  ...[
    '\r\n',
    '\n',
    '\r',
    '\0',
    ' ',
    ':',
    '\t',
    '\r\n\r\n',
    '\r\n folded: 1',
    'transfer-encoding: chunked\r\n',
    'GET / HTTP/1.1\r\n',
  ],
  ...[
    'content-length: 5\r\n',
    'content-length: -1\r\n',
    'HTTP/2.0',
    'HTTP/0.9',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\x16\x03\x01',
    '\xff\xfe',
  ],
  ...[
    '0\r\n\r\n',
    'ffffffffffffffff\r\n',
    '5;ext="\r\n',
    'x-inserted: 1\r\n',
    'connection: upgrade\r\nupgrade: websocket\r\n',
  ],
];

const byteEdit: fc.Arbitrary<ByteEdit> = fc.record({
  at: place,
  remove: fc.nat({ max: 8 }),
  insert: fc.oneof(
    fc.constant(''),
    fc.constantFrom(...HOSTILE_BYTES),
    fc.string({ unit: 'binary-ascii', maxLength: 4 }),
  ),
});

/** Fields that make the server answer otherwise, or less often. */
const ENDING_FIELDS = new Set(['connection', 'upgrade', 'expect', 'te', '__proto__']);
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what no request line has
const NOT_IN_TARGET = /[\x00-\x20\x7f]/;

/** A request that HTTP allows, so that exactly one answer is due. */
function isSound({ method, target, headers }: Spec): boolean {
  if (method === 'HEAD' || !target.startsWith('/') || NOT_IN_TARGET.test(target) || target.length > 8_000) return false;
  return headers.every(([name]) => !ENDING_FIELDS.has(name));
}

/** Connections on which all is sound but what the requests say. */
export function soundConnections(wire: WireName): fc.Arbitrary<Connection> {
  return fc.record({
    specs: fc.array(requests(wire).filter(isSound), { minLength: 1, maxLength: 4 }),
    framings: fc.array(fc.constantFrom<Framing>('length', 'chunked'), { minLength: 4, maxLength: 4 }),
    edits: fc.constant([]),
    cuts: fc.array(place, { maxLength: 4 }),
    ending: fc.constant('end' as const),
  });
}

/** Connections that break the rules of HTTP, or break off. */
export function brokenConnections(wire: WireName): fc.Arbitrary<Connection> {
  return fc.record({
    specs: fc.array(
      requests(wire).filter(({ method }) => method !== 'HEAD'),
      { minLength: 1, maxLength: 3 },
    ),
    framings: fc.array(fc.constantFrom(...FRAMINGS), { minLength: 3, maxLength: 3 }),
    edits: fc.array(byteEdit, { maxLength: 3 }),
    cuts: fc.array(place, { maxLength: 4 }),
    ending: fc.oneof(
      { weight: 3, arbitrary: fc.constant('end' as const) },
      { weight: 1, arbitrary: fc.constantFrom('abort' as const, 'reset' as const) },
    ),
  });
}

/** The bytes of a request. */
export function encoded({ method, target, headers, body }: Spec, framing: Framing): Buffer {
  const bytes = bytesOf(body);
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'host: 127.0.0.1',
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  const { fields, payload } = framed(bytes, framing);
  const head = Buffer.from(`${[...lines, ...fields].join('\r\n')}\r\n\r\n`, 'latin1');
  return Buffer.concat([head, payload]);
}

function framed(bytes: Buffer, framing: Framing): { readonly fields: readonly string[]; readonly payload: Buffer } {
  const length = (count: number): string => `content-length: ${count}`;
  const chunked = 'transfer-encoding: chunked';
  switch (framing) {
    case 'length':
      return { fields: [length(bytes.length)], payload: bytes };
    case 'chunked':
      return { fields: [chunked], payload: chunks(bytes, '0\r\n\r\n') };
    case 'short':
      return { fields: [length(Math.max(0, bytes.length - 3))], payload: bytes };
    case 'long':
      return { fields: [length(bytes.length + 7)], payload: bytes };
    case 'both':
      return { fields: [length(bytes.length), chunked], payload: chunks(bytes, '0\r\n\r\n') };
    case 'twice':
      return { fields: [length(bytes.length), length(0)], payload: bytes };
    case 'none':
      return { fields: [], payload: bytes };
    case 'bad-chunk':
      return { fields: [chunked], payload: chunks(bytes, 'zz\r\n\r\n') };
    case 'no-end':
      return { fields: [chunked], payload: chunks(bytes, '') };
    case 'negative':
      return { fields: ['content-length: -1'], payload: bytes };
  }
}

function chunks(bytes: Buffer, end: string): Buffer {
  const parts: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += 50_000) {
    const part = bytes.subarray(from, from + 50_000);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from(end)]);
}

/** The bytes with the edits, in pieces. */
export function piecesOf(bytes: Buffer, { edits, cuts }: Connection): readonly Buffer[] {
  let whole = bytes;
  for (const { at, remove, insert } of edits) {
    const from = Math.floor(at * whole.length);
    whole = Buffer.concat([whole.subarray(0, from), Buffer.from(insert, 'latin1'), whole.subarray(from + remove)]);
  }
  const places = cuts.map((cut) => Math.floor(cut * whole.length)).sort((a, b) => a - b);
  return [0, ...places].map((from, index) => whole.subarray(from, places[index] ?? whole.length));
}
