import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Certificates } from '../support/certificates.ts';
import { component, findingsOf, load, metadata, problemsOf } from './files.ts';

const connectionString = 'amqp://app:opensesame@rabbit.internal:5672/shop';
const TLS = { protocol: 'amqps', hostname: 'rabbit' };
const DELETED = { deletedWhenUnused: 'false' };

/** The message of the one problem of a component. */
async function problemOf(values: Readonly<Record<string, string>>): Promise<string> {
  const problems = await problemsOf(component('pubsub', 'pubsub.rabbitmq', metadata(values)));
  expect(problems).toHaveLength(1);
  expect(problems[0]).not.toContain('opensesame');
  return problems[0]?.replace(/^.*?\): /, '') ?? '';
}

/** What is noted about a component without a problem. */
async function notesOf(values: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const yaml = component('pubsub', 'pubsub.rabbitmq', metadata(values));
  const { problems, notes } = await findingsOf({ 'a.yaml': yaml });
  expect(problems).toEqual([]);
  return notes.map((note) => note.replace(/^.*?\): /, ''));
}

describe('pubsub.rabbitmq', () => {
  test.each([
    ['a connection string', { connectionString }],
    ['its old name', { host: connectionString }],
    ['parts', { hostname: 'rabbit.internal', username: 'app', password: 'p@ss/:' }],
    [
      'all that Dapr has',
      {
        connectionString,
        consumerID: 'team',
        durable: 'true',
        exchangeKind: 'topic',
        enableDeadLetter: 'true',
        maxLen: '100',
        maxLenBytes: '1000000',
        ttlInSeconds: '60',
        prefetchCount: '10',
        reconnectWaitSeconds: '3',
        heartBeat: '30s',
        clientName: 'orders',
        deliveryMode: '2',
        requeueInFailure: 'true',
        autoAck: 'false',
        publishMessagePropertiesToMetadata: 'true',
      },
    ],
    ['names in any case', { CONNECTIONSTRING: connectionString, EnableDeadLetter: 'TRUE' }],
  ])('is pub/sub on RabbitMQ, with %s', async (_what, values) => {
    const { options, notes } = await load(component('pubsub', 'pubsub.rabbitmq', metadata({ ...values, ...DELETED })));
    expect(options.components).toMatchObject([{ name: 'pubsub', type: 'pubsub.rabbitmq', version: 'v1' }]);
    expect(notes).toEqual([]);
  });

  test('is pub/sub on RabbitMQ, with certificates', async () => {
    using certificates = new Certificates();
    const read = (path: string): string => readFileSync(path, 'utf8');
    const { ca, cert, key } = certificates;
    const pem = { caCert: read(ca), clientCert: read(cert), clientKey: read(key) };
    const values = { ...TLS, ...DELETED, ...pem, saslExternal: 'true' };
    const { options } = await load(component('pubsub', 'pubsub.rabbitmq', metadata(values)));
    expect(options.components).toMatchObject([{ name: 'pubsub', type: 'pubsub.rabbitmq' }]);
  });

  test('scopes of topics are those of the file', async () => {
    const values = { connectionString, ...DELETED, allowedTopics: 'a,b', publishingScopes: 'orders=a' };
    const { options } = await load(component('pubsub', 'pubsub.rabbitmq', metadata(values)));
    expect(options.components).toMatchObject([
      { topics: { allowedTopics: ['a', 'b'], publishingScopes: { orders: ['a'] } } },
    ]);
  });

  test.each([
    [{}, /^queues stay when their last consumer leaves/],
    [{ deletedWhenUnused: 'true' }, /loses its messages when the application leaves$/],
    [{ ...DELETED, deliveryMode: '1' }, /^metadata deliveryMode has no effect/],
    [{ ...DELETED, requeueInFailure: 'false' }, /^metadata requeueInFailure has no effect/],
    [
      { ...DELETED, publisherConfirm: 'true', concurrency: 'single' },
      /^pubsub.rabbitmq has no use for metadata publisherConfirm, concurrency$/,
    ],
  ])('%j is noted', async (values, note) => {
    expect(await notesOf({ connectionString, ...values })).toEqual([expect.stringMatching(note)]);
  });

  test.each([
    [{}, 'pubsub.rabbitmq needs metadata connectionString'],
    [{ connectionString, autoAck: 'true' }, 'metadata autoAck must be "false"'],
    [{ connectionString: 'http://app:opensesame@rabbit' }, 'metadata connectionString must be like'],
    [{ ...TLS, clientCert: '-----BEGIN A', clientKey: '-----BEGIN B' }, 'certificates must be valid'],
    [{ connectionString, saslExternal: 'true' }, 'metadata connectionString must be like'],
    [{ connectionString, protocol: 'amqps' }, 'metadata protocol must be that of connectionString'],
    [{ connectionString, clientCert: 'b' }, 'metadata clientCert and clientKey belong together'],
    [{ hostname: 'rabbit', protocol: 'amqps', caCert: 'opensesame' }, 'metadata caCert must be in PEM'],
    [
      { connectionString, exchangeKind: 'opensesame' },
      'metadata exchangeKind must be "fanout", "topic", "direct" or "headers"',
    ],
    [{ connectionString, maxLen: 'opensesame' }, 'metadata maxLen must be a whole number of 0 or more'],
    [{ connectionString, prefetchCount: '70000' }, 'metadata prefetchCount must be a whole number from 0 to 65535'],
    [
      { connectionString, ttlInSeconds: 'opensesame' },
      'metadata ttlInSeconds must be a duration of at most 1193h, such as "5s", or a number of seconds',
    ],
    [{ connectionString, heartBeat: '3601' }, 'metadata heartBeat must be a duration of at most 1h'],
    [{ connectionString, heartBeat: '-5s' }, 'metadata heartBeat must be a duration of at most 1h'],
    [{ connectionString, conection: 'x', consumerId2: 'y' }, 'pubsub.rabbitmq has no metadata "consumerId2"'],
  ])('%j is refused', async (values, problem) => {
    expect(await problemOf({ ...DELETED, ...values })).toContain(problem);
  });
});
