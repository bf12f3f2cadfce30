import { connect, jwtAuthenticator } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import type { NatsMessage, NatsModule } from '../../../src/components/jetstream/driver.ts';
import { encodeHeaders, receivedOf } from '../../../src/components/jetstream/messages.ts';
import { NO_METADATA } from '../../../src/components/pubsub.ts';

const delivered = (reply: string, headers?: NatsMessage['headers']): NatsMessage => ({
  subject: 'orders',
  reply,
  data: Buffer.from('x'),
  headers,
});

test.each([
  ['older servers', '$JS.ACK.S.C.3.17.21.1700000000000000001.0'],
  ['newer servers', '$JS.ACK.hub.ACCOUNT.S.C.3.17.21.1700000000000000001.0'],
  ['newer servers with a token', '$JS.ACK._.ACCOUNT.S.C.3.17.21.1700000000000000001.0.token'],
])('the reply subject of %s tells position and attempts', (_name, reply) => {
  expect(receivedOf(delivered(reply), 'orders')).toMatchObject({
    attempts: 2,
    key: '17.1700000000000000001',
    handle: { reply },
    message: { id: 'S:17', raw: true },
  });
});

test('a message without position is no delivery', () => {
  expect(receivedOf(delivered(''), 'orders')).toBeUndefined();
  expect(receivedOf(delivered('_INBOX.a.b'), 'orders')).toBeUndefined();
});

test('malformed headers of another program do not stop the delivery', () => {
  const message = delivered('$JS.ACK.S.C.1.1.1.1.0');
  Object.defineProperty(message, 'headers', {
    get: () => {
      throw new Error('not a valid character in a header name');
    },
  });
  expect(receivedOf(message, 'orders')?.message.id).toBe('S:1');
});

test.each([
  ['a-b', 'a-b@orders'],
  ['a b', 'a%20b@orders'],
  ['a%20b', 'a%2520b@orders'],
  ['ü\r\nX: y', '%c3%bc%0d%0aX:%20y@orders'],
])('the ID %j for duplicates is %s', (id, expected) => {
  const message = { id, topic: 'orders', data: new Uint8Array(), contentType: '', raw: true, metadata: NO_METADATA };
  const headers = encodeHeaders(message, 'orders');
  expect(Buffer.from(headers.encode()).toString().split('\r\n')[1]).toBe(`Nats-Msg-Id: ${expected}`);
  expect(headers.encode().length).toBe(headers.length);
});

test('the driver has what is used of it', () => {
  // The compiler checks it.
  const used: NatsModule = { connect, jwtAuthenticator };
  expect(used.connect).toBe(connect);
});
