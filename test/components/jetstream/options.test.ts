import { expect, test } from 'vitest';
import { parseAddress } from '../../../src/components/jetstream/address.ts';
import { loadNats } from '../../../src/components/jetstream/driver.ts';
import { jetstreamPubSub } from '../../../src/components/jetstream/index.ts';

test.each([
  ['nats://localhost', { servers: ['localhost:4222'], tls: false }],
  ['host:1', { servers: ['host:1'], tls: false }],
  ['nats://[::1]:7', { servers: ['[::1]:7'], tls: false }],
  ['nats://me:p%40ss@a:1, tls://b', { servers: ['a:1', 'b:4222'], username: 'me', password: 'p@ss', tls: true }],
  ['nats://secret@a', { servers: ['a:4222'], token: 'secret', tls: false }],
])('the url %s', (url, expected) => expect(parseAddress(url)).toEqual(expected));

test.each(['', 'http://a', 'nats://', 'nats://a/b', 'nats://me:hunter2@a b'])('refuses the url %j', (url) => {
  expect(() => jetstreamPubSub('pubsub', { url })).toThrow(
    /^url in options of jetstreamPubSub "pubsub": expected one like "nats:/,
  );
});

test.each([
  [{ servers: 'a' }, 'unknown field "servers"'],
  [{ jwt: 'x' }, 'jwt in options of jetstreamPubSub "pubsub": expected a seed with it'],
  [{ seed: 'x' }, 'expected a jwt with it'],
  [{ stream: 'a.b' }, 'stream in options of jetstreamPubSub "pubsub" is "a.b": expected a name'],
  [{ stream: 'S', createStream: true }, 'expected none with createStream'],
  [{ createStream: { maxAgeMs: 1 } }, 'unknown field "maxAgeMs"'],
  [{ createStream: { maxBytes: 0 } }, 'maxBytes in createStream in options of jetstreamPubSub "pubsub" is 0'],
  [{ domain: 'a b' }, 'domain in options of jetstreamPubSub "pubsub" is "a b"'],
  [
    { ackWait: 500 },
    'ackWait in options of jetstreamPubSub "pubsub" is 500: expected a duration: a number of milliseconds, or a text such as 500ms, 1h30m, 3d, 2w, PT1H30M or P1D, of 1000 ms or more',
  ],
  [{ maxAckPending: -1 }, 'maxAckPending in options of jetstreamPubSub "pubsub" is -1'],
  [{ deliverPolicy: 'newest' }, 'expected "all", "last", "new"'],
  [{ deliverPolicy: { startSequence: 0 } }, 'expected "all", "last", "new"'],
  [{ deliverPolicy: { startTime: new Date('x') } }, 'expected "all", "last", "new"'],
])('refuses the options %j', (options, problem) => {
  expect(() => jetstreamPubSub('pubsub', options as object)).toThrow(problem);
});

test('a missing package is named', async () => {
  await expect(loadNats('@nats-io/not-there')).rejects.toThrow(
    'The pub/sub component of type pubsub.jetstream needs the package @nats-io/not-there: run "npm install @nats-io/not-there@3".',
  );
});
