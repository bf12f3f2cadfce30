import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foreignMessage } from '../../../src/components/broker/foreign-message.ts';
import { encodeHeader, parseHeader } from '../../../src/components/broker/message-header.ts';
import type { Message } from '../../../src/components/pubsub.ts';

const texts = fc.string({ unit: 'binary' });
// To the end of the year 9999, the last one of RFC 3339.
const INSTANTS = fc.integer({ min: 0, max: 253_402_300_799_999 });
const messages: fc.Arbitrary<Message> = fc
  .record(
    {
      id: texts,
      contentType: texts,
      raw: fc.boolean(),
      metadata: fc.dictionary(texts, texts, { noNullPrototype: false, minKeys: 1 }),
      trace: fc.oneof(fc.record({ traceparent: texts }), fc.record({ traceparent: texts, tracestate: texts })),
      expiresAt: fc.integer(),
      deadLetter: fc.record({ topic: texts, group: texts, reason: texts, attempts: fc.nat(), deadAt: INSTANTS }),
    },
    { requiredKeys: ['id', 'contentType', 'raw', 'metadata'] },
  )
  .map((parts) => ({ topic: 't', data: new Uint8Array(), ...parts }));

describe('the header', () => {
  test('of any message is printable ASCII and says all that the broker does not carry', () => {
    fc.assert(
      fc.property(messages, (message) => {
        const header = encodeHeader(message, true);
        expect(header).toMatch(/^[\x20-\x7e]*$/);
        const { topic, data, ...content } = message;
        expect(JSON.stringify(sorted(parseHeader(header)))).toBe(JSON.stringify(sorted(content)));
      }),
    );
  });

  test.each(['', 'x', 'null', '[]', '{}', '{"i":1}', '{"id":"a"}'])('%j is none of ours', (text) => {
    expect(parseHeader(text)).toBeUndefined();
  });

  test('with wrong members gives the right ones only', () => {
    expect(parseHeader('{"i":"a","c":1,"r":"x","e":"y","t":{},"d":{"topic":1},"m":{"a":"b","c":2}}')).toEqual({
      id: 'a',
      contentType: 'application/cloudevents+json',
      raw: false,
      metadata: { a: 'b' },
    });
  });
});

describe('a foreign message', () => {
  const make = (data: string, more: Partial<Parameters<typeof foreignMessage>[0]> = {}): Message =>
    foreignMessage({ topic: 't', id: 'position', data: Buffer.from(data), ...more });

  test('with specversion is an event with its ID, trace and expiry', () => {
    const event = {
      specversion: '1.0',
      id: 'e1',
      traceid: '00-aa',
      tracestate: 'a=b',
      expiration: '2026-01-01T00:00:00Z',
    };
    expect(make(` \n${JSON.stringify(event)}`)).toMatchObject({
      id: 'e1',
      raw: false,
      contentType: 'application/cloudevents+json',
      trace: { traceparent: '00-aa', tracestate: 'a=b' },
      expiresAt: Date.UTC(2026, 0),
    });
  });

  test.each([
    ['{"specversion":1}', 'application/json'],
    ['{"a":1}', 'application/json'],
    ['[{"specversion":"1.0"}]', 'application/octet-stream'],
    ['text', 'application/octet-stream'],
    ['{"specversion":"1.0"', 'application/octet-stream'],
    ['', 'application/octet-stream'],
  ])('%j is a raw payload of type %s with the ID of its position', (data, contentType) => {
    expect(make(data)).toMatchObject({ id: 'position', raw: true, contentType });
  });

  test('that says rawPayload is raw, whatever it holds', () => {
    expect(make('{"specversion":"1.0","id":"e1"}', { metadata: { rawPayload: 'true' } })).toMatchObject({
      id: 'position',
      raw: true,
    });
  });

  test('has the media type that the broker knows', () => {
    expect(make('x', { contentType: 'text/plain' })).toMatchObject({ contentType: 'text/plain' });
  });
});

function sorted(content: object | undefined): unknown {
  return content === undefined
    ? undefined
    : Object.fromEntries(Object.entries(content).sort(([a], [b]) => (a < b ? -1 : 1)));
}
