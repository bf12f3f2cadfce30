import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { HeaderMap } from '../../src/http/message.ts';
import { type ResponseHead, ResponseHeads, ResponseParser } from '../../src/http/response-parser.ts';

interface Parsed {
  readonly status: number | undefined;
  readonly headers: HeaderMap;
  readonly body: string;
  readonly trailers: HeaderMap | undefined;
}

/** Parses the pieces of one response; with `ends`, the connection ends behind them. */
function parse(pieces: readonly Buffer[], { isHead = false, ends = false } = {}): Parsed {
  const parser = new ResponseParser(new ResponseHeads());
  const chunks: Buffer[] = [];
  let head: ResponseHead | undefined;
  let trailers: HeaderMap | undefined;
  const sink = {
    onHead: (arrived: ResponseHead) => {
      head = arrived;
    },
    onData: (chunk: Buffer) => void chunks.push(Buffer.from(chunk)),
    onEnd: (arrived: HeaderMap) => {
      trailers = arrived;
    },
  };
  parser.expect(sink, isHead);
  for (const piece of pieces) parser.read(piece);
  if (ends) parser.end();
  assert.equal(parser.isDone, trailers !== undefined);
  return { status: head?.status, headers: head?.headers ?? {}, body: Buffer.concat(chunks).toString(), trailers };
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

const VALID: readonly (readonly [what: string, text: string, status: number, body: string])[] = [
  ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', 200, 'hello'],
  ['a length of 0', 'HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n', 200, ''],
  ['no reason', 'HTTP/1.1 404\r\ncontent-length: 0\r\n\r\n', 404, ''],
  ['no fields', 'HTTP/1.1 204 No Content\r\n\r\n', 204, ''],
  ['an announced body that 304 does not have', 'HTTP/1.1 304 -\r\ncontent-length: 9\r\n\r\n', 304, ''],
  [
    'chunks',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nA;x="y"\r\n0123456789\r\n0\r\n\r\n',
    200,
    'abc0123456789',
  ],
  [
    'chunks that hold line ends',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, Chunked\r\n\r\n4\r\n\r\n\r\n\r\n0\r\n\r\n',
    200,
    '\r\n\r\n',
  ],
  [
    'an interim response',
    'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx',
    200,
    'x',
  ],
];

test.for(VALID)('reads %s, whole and byte by byte', ([, text, status, body]) => {
  const whole = parse([bytes(text)]);
  assert.deepEqual([whole.status, whole.body], [status, body]);
  assert.notEqual(whole.trailers, undefined);
  assert.deepEqual(parse([...bytes(text)].map((byte) => Buffer.from([byte]))), whole);
});

test('reads a body that ends with the connection', () => {
  const text = 'HTTP/1.0 200 OK\r\n\r\nuntil the end';
  assert.equal(parse([bytes(text)]).trailers, undefined);
  assert.equal(parse([bytes(text)], { ends: true }).body, 'until the end');
});

test('reads no body after HEAD', () => {
  const { headers, body, trailers } = parse([bytes('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n')], { isHead: true });
  assert.deepEqual([headers['content-length'], body, trailers], ['9', '', {}]);
});

test('reads fields: repeated, empty, with any bytes, and with names of any object', () => {
  const fields =
    'Set-Cookie: a=1\r\nset-cookie:\tb=2 \r\nx-empty:\r\nx-text: \xe4\r\nconstructor: c\r\ncontent-length: 0';
  const { headers } = parse([bytes(`HTTP/1.1 200 OK\r\n${fields}\r\n\r\n`)]);
  const expected = {
    'set-cookie': ['a=1', 'b=2'],
    'x-empty': '',
    'x-text': '\xe4',
    constructor: 'c',
    'content-length': '0',
  };
  assert.deepEqual({ ...headers }, expected);
});

test('reads trailers', () => {
  const text = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\nx-b: 2\r\n\r\n';
  assert.deepEqual({ ...parse([bytes(text)]).trailers }, { 'x-sum': '1', 'x-b': '2' });
});

test('gives every response fields of its own, although the head is the same', () => {
  const heads = new ResponseHeads();
  const text = 'HTTP/1.1 200 OK\r\nx-a: 1';
  const first = heads.parse(text);
  (first.headers as Record<string, string>)['x-a'] = 'changed';
  assert.equal(heads.parse(text).headers['x-a'], '1');
});

test('says whether the connection stays open, and for how long', () => {
  const parsed = (text: string): readonly unknown[] => {
    const { keepsOpen, idleMs } = new ResponseHeads().parse(text);
    return [keepsOpen, idleMs];
  };
  assert.deepEqual(parsed('HTTP/1.1 200 OK'), [true, undefined]);
  assert.deepEqual(parsed('HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: max=9, timeout=5'), [true, 5_000]);
  assert.deepEqual(parsed('HTTP/1.1 200 OK\r\nconnection: Close'), [false, undefined]);
  assert.deepEqual(parsed('HTTP/1.0 200 OK'), [false, undefined]);
  assert.deepEqual(parsed('HTTP/1.0 200 OK\r\nConnection: Keep-Alive'), [true, undefined]);
});

const LONG = 'x'.repeat(17 * 1024);
const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;
const MALFORMED: readonly (readonly [what: string, text: string])[] = [
  ['another protocol', 'SSH-2.0-OpenSSH_9\r\n\r\n'],
  ['another version', 'HTTP/2 200 OK\r\n\r\n'],
  ['a status that is no number', 'HTTP/1.1 2x0 OK\r\n\r\n'],
  ['a switch of protocols', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n'],
  ['a length that is no number', `${OK}content-length: 5x\r\n\r\n`],
  ['a negative length', `${OK}content-length: -5\r\n\r\n`],
  ['two lengths', `${OK}content-length: 5\r\ncontent-length: 5\r\n\r\n`],
  ['a list of lengths', `${OK}content-length: 5, 5\r\n\r\n`],
  ['a length and chunks', `${OK}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`],
  ['a space before the colon', `${OK}x : 1\r\n\r\n`],
  ['a field on two lines', `${OK}x: 1\r\n y: 2\r\n\r\n`],
  ['a field without a colon', `${OK}x\r\n\r\n`],
  ['a NUL in a field', `${OK}x: a\0b\r\n\r\n`],
  ['a bare line feed in a field', `${OK}x: a\nb: c\r\n\r\n`],
  ['a size of a chunk that is no number', `${CHUNKED}z\r\n`],
  ['a size of a chunk in another notation', `${CHUNKED}0x1\r\nx\r\n0\r\n\r\n`],
  ['a size of a chunk with a sign', `${CHUNKED}+1\r\nx\r\n0\r\n\r\n`],
  ['an immense size of a chunk', `${CHUNKED}fffffffffffffffff\r\n`],
  ['a size of a chunk without end', `${CHUNKED}${LONG}`],
  ['a chunk longer than its size', `${CHUNKED}1\r\nxy\r\n0\r\n\r\n`],
  ['long trailers', `${CHUNKED}0\r\n${'x: 12345678901234567890\r\n'.repeat(1_000)}\r\n`],
  ['bytes behind the response', `${OK}content-length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n\r\n`],
];

test.for([
  ['a long head', `${OK}x: ${LONG}\r\n\r\n`],
  ['a head without end', `${OK}x: ${LONG}`],
] as const)('refuses %s, and says how much is read', ([, text]) => {
  assert.throws(() => parse([bytes(text)]), /^Error: the head of the response is larger than the 16384 bytes/);
});

test.for(MALFORMED)('refuses %s', ([, text]) => {
  assert.throws(() => parse([bytes(text)]), /not valid HTTP\/1\.1/);
});

test.for([OK, `${OK}content-length: 5\r\n\r\nhell`, CHUNKED, `${CHUNKED}5\r\nhello\r\n`])(
  'refuses the end of the connection in the middle: %j',
  (text) => {
    assert.throws(() => parse([bytes(text)], { ends: true }), /ended in the middle/);
  },
);

test('shares no array of fields between responses with the same head', () => {
  const heads = new ResponseHeads();
  const text = 'HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nset-cookie: b=2\r\ncontent-length: 0';
  (heads.parse(text).headers['set-cookie'] as string[]).push('session=alice');
  assert.deepEqual(heads.parse(text).headers['set-cookie'], ['a=1', 'b=2']);
});

test('removes only spaces and tabs around the value of a field, and no bytes of UTF-8', () => {
  const text = (value: string): string => `HTTP/1.1 200 OK\r\nx-name:${value}\r\ncontent-length: 0`;
  const nameOf = (value: string): unknown => new ResponseHeads().parse(text(value)).headers['x-name'];
  const voila = Buffer.from('voilà').toString('latin1');
  assert.equal(nameOf(` \t${voila}\t `), voila);
  assert.equal(nameOf(' \t '), '');
  for (const value of ['a\v', '\fa']) assert.throws(() => nameOf(value));
});
