import { randomUUID } from 'node:crypto';
import { connect } from '@nats-io/transport-node';
import { describe, expect, test } from 'vitest';
import { pubsubsOf } from '../../src/components/any-component.ts';
import { Sidecar } from '../../src/index.ts';
import { until } from '../support/broker-world.ts';
import { RecordingLogger } from '../support/logger.ts';
import { hasNats, startNats } from '../support/servers.ts';
import { component, findingsOf, load, metadata, problemsOf } from './files.ts';

const natsURL = 'nats://nats.internal:4222';
const yamlOf = (values: Readonly<Record<string, string>>): string =>
  component('events', 'pubsub.jetstream', metadata(values));
const textOf = (finding: string | undefined): string => finding?.replace(/^.*?\): /, '') ?? '';

describe('pubsub.jetstream', () => {
  test.each([
    [{}],
    [
      {
        token: 'opensesame',
        name: 'orders',
        streamName: 'shop',
        domain: 'hub',
        ackPolicy: 'explicit',
        maxDeliver: '0',
      },
    ],
    [{ jwt: 'x', seedKey: 'y', apiPrefix: '$JS.hub.API', deliverPolicy: 'sequence', startSequence: '7' }],
    [{ tls_client_cert: '/c.pem', tls_client_key: '/k.pem', deliverPolicy: 'time', startTime: '1700000000' }],
    [{ createStream: 'true', replicas: '3', memoryStorage: 'true', maxAckPending: '100', NATSURL: natsURL }],
  ])('%j is a component without a note', async (values) => {
    const given = 'NATSURL' in values ? values : { natsURL, ...values };
    const { options, notes } = await load(yamlOf({ ...given, allowedTopics: 'orders' }));
    expect(options.components.map(({ name, type }) => [name, type])).toEqual([['events', 'pubsub.jetstream']]);
    expect(pubsubsOf(options.components)[0]?.topics.allowedTopics).toEqual(['orders']);
    expect(notes).toEqual([]);
  });

  test.each([
    [{ natsURL: '' }, 'pubsub.jetstream needs metadata natsURL: "nats://host:4222"'],
    [{ natsURL: 'http://opensesame' }, 'metadata natsURL must be like "nats://user:password@host:4222"; '],
    [{ streamName: 'opensesame a' }, 'streamName and durableName must be names'],
    [{ streamName: 'opensesame', createStream: 'true' }, 'metadata createStream makes a stream for each topic: leave '],
    [{ jwt: 'opensesame' }, 'metadata jwt and seedKey belong together'],
    [{ tls_client_key: 'opensesame' }, 'metadata tls_client_cert and tls_client_key belong together'],
    [{ deliverPolicy: 'opensesame' }, 'metadata deliverPolicy must be "all", "last", "new", "sequence" or "time"'],
    [{ deliverPolicy: 'sequence' }, 'metadata deliverPolicy "sequence" needs startSequence'],
    [{ deliverPolicy: 'time' }, 'metadata deliverPolicy "time" needs startTime'],
    [{ ackPolicy: 'all' }, 'metadata ackPolicy must be "explicit"'],
    [{ ackPolicy: 'none' }, 'metadata ackPolicy must be "explicit"'],
    [{ ackWait: 'opensesame' }, 'metadata ackWait must be a duration of at most 24h'],
    [{ ackWait: '-1s' }, 'metadata ackWait must be a duration of at most 24h'],
    [{ ackWait: '30' }, 'metadata ackWait must be a duration of at most 24h'],
    [{ maxAckPending: 'opensesame' }, 'metadata maxAckPending must be a whole number'],
    [{ streamNme: 'opensesame' }, 'pubsub.jetstream has no metadata "streamNme"; did you mean "streamName"?'],
  ])('refuses %j without its value', async (values, message) => {
    const problems = await problemsOf(yamlOf({ natsURL, ...values }));
    expect(problems).toHaveLength(1);
    expect(textOf(problems[0])).toContain(message);
    expect(problems[0]).not.toContain('opensesame');
  });

  test('names of Dapr without a use here are noted', async () => {
    const ignored = { queueGroupName: 'q', flowControl: 'true', rateLimit: '1', heartbeat: '1s', backOff: '1s' };
    const yaml = yamlOf({ natsURL, ...ignored, concurrency: 'parallel' });
    const { problems, notes } = await findingsOf({ 'a.yaml': yaml });
    expect(problems).toEqual([]);
    expect(notes.map(textOf)).toEqual([
      `pubsub.jetstream has no use for metadata ${Object.keys(ignored).join(', ')}, concurrency`,
    ]);
  });

  test('what has another effect than in Dapr is noted', async () => {
    const { problems, notes } = await findingsOf({
      'a.yaml': yamlOf({ natsURL, durableName: 'dur', maxDeliver: '5', ackWait: '30s' }),
    });
    expect(problems).toEqual([]);
    expect(notes.map(textOf)).toEqual([
      expect.stringContaining('consumers are named after group and topic'),
      expect.stringContaining('maxDeliver has no effect'),
      expect.stringContaining('ackWait is how soon messages of a dead process come again'),
    ]);
  });

  test.skipIf(!hasNats())('the settings reach the server', async () => {
    await using server = await startNats(['authorization { token: opensesame }']);
    const raw = await connect({ servers: `127.0.0.1:${server.port}`, token: 'opensesame' });
    const topic = `resources-${randomUUID()}`;
    const values = { natsURL: `nats://127.0.0.1:${server.port}`, token: 'opensesame', createStream: 'true' };
    const more = { ackWait: '5s', maxAckPending: '33', deliverPolicy: 'new', memoryStorage: 'true' };
    const { options } = await load(yamlOf({ ...values, ...more }));
    const sidecar = new Sidecar({ appId: 'orders', ...options, logger: new RecordingLogger() });
    await sidecar.start();
    const got: unknown[] = [];
    await sidecar.pubsub.subscribe('events', topic, ({ data }) => void got.push(data));
    await sidecar.pubsub.publish('events', topic, { id: 1 });
    await until('it came', () => got.length === 1);
    const info = await raw.request(`$JS.API.CONSUMER.INFO.insidecar-${topic}.orders@${topic}`);
    expect(info.json<{ config: object }>().config).toMatchObject({
      ...{ ack_wait: 5_000_000_000, max_ack_pending: 33, deliver_policy: 'new', mem_storage: true },
    });
    await sidecar.stop();
    await raw.close();
  });
});
