import { describe, expect, test } from 'vitest';
import { hasBroker, KafkaTestBroker } from '../components/kafka/kafka-test-broker.ts';
import { BrokerWorld } from '../support/broker-world.ts';
import { component, findingsOf, load, metadata } from './files.ts';

const plain = { brokers: 'kafka-1.internal:9092, kafka-2.internal', authType: 'none' };
const login = { ...plain, authType: 'password', saslUsername: 'app', saslPassword: 'opensesame' };
const oidc = {
  ...{ ...plain, authType: 'oidc', oidcTokenEndpoint: 'https://idp.internal/token' },
  ...{ oidcClientID: 'orders', oidcClientSecret: 'opensesame', oidcScopes: 'openid,kafka' },
};
const EXPERIMENTAL = 'pubsub.kafka is experimental: it has not been tested with a cluster of Kafka yet';

async function found(values: Readonly<Record<string, string>>) {
  const { problems, notes } = await findingsOf({ 'a.yaml': component('pubsub', 'pubsub.kafka', metadata(values)) });
  const text = (finding: string): string => finding.replace(/^.*?\): /, '');
  return { problems: problems.map(text), notes: notes.map(text).filter((note) => note !== EXPERIMENTAL) };
}

describe('pubsub.kafka', () => {
  test('says that it is experimental', async () => {
    const { notes } = await load(component('pubsub', 'pubsub.kafka', metadata(plain)));
    expect(notes.map(({ message }) => message)).toEqual([EXPERIMENTAL]);
  });

  test.each([
    ['no login', plain],
    ['a password', login],
    ['tokens of an OAuth 2.0 server', oidc],
    ['SCRAM', { ...login, saslMechanism: 'SHA-512' }],
    ['what was once the login', { ...login, authType: '', authRequired: 'true' }],
    [
      'all that Dapr has',
      {
        ...plain,
        consumerGroup: '{appID}-group',
        clientID: 'orders',
        initialOffset: 'Oldest',
        maxMessageBytes: '2048',
        compression: 'gzip',
        sessionTimeout: '15s',
        heartbeatInterval: '5s',
        escapeHeaders: 'true',
        excludeHeaderMetaRegex: '^x-',
      },
    ],
    ['names in any case', { BROKERS: 'kafka', AuthType: 'NONE' }],
  ])('is pub/sub on Kafka, with %s', async (_what, values) => {
    expect(await found(values)).toEqual({ problems: [], notes: [] });
    const { options } = await load(component('pubsub', 'pubsub.kafka', metadata(values)));
    expect(options.components).toMatchObject([{ name: 'pubsub', type: 'pubsub.kafka', version: 'v1' }]);
  });

  test.each([
    [{ authType: 'none' }, 'pubsub.kafka needs metadata brokers: "kafka.internal:9092"'],
    [{ brokers: 'kafka' }, 'pubsub.kafka needs metadata authType: "none", "password", "oidc", "mtls" or "certificate"'],
    [
      { ...plain, authType: 'kerberos' },
      'metadata authType must be "none", "password", "oidc", "mtls" or "certificate"',
    ],
    [{ ...plain, authType: 'awsiam' }, 'metadata authType "awsiam" is not supported in resource files'],
    [{ ...oidc, oidcTokenEndpoint: 'idp' }, 'metadata authType "oidc" needs oidcTokenEndpoint, an https URL'],
    [{ ...oidc, oidcClientSecret: '' }, 'oidcClientID and oidcClientSecret'],
    [{ ...oidc, oidcExtensions: '{"a":"b"}' }, 'metadata oidcExtensions: insidecar sends none'],
    [{ ...plain, authType: 'oidc_private_key_jwt' }, "with sasl { mechanism: 'oauthbearer', token }"],
    [{ ...login, saslPassword: '' }, 'metadata authType "password" needs saslUsername and saslPassword'],
    [{ ...login, saslMechanism: 'GSSAPI' }, 'metadata saslMechanism must be "PLAINTEXT", "SHA-256" or "SHA-512"'],
    [{ ...plain, authType: 'mtls', clientCert: '-----BEGIN ' }, 'metadata clientCert and clientKey belong together'],
    [{ ...plain, authType: 'certificate', caCert: 'c' }, 'metadata caCert must be in PEM'],
    [{ ...plain, brokers: 'kafka://:opensesame@host' }, 'metadata brokers must be addresses like'],
    [{ ...plain, schemaRegistryURL: 'http://registry' }, 'insidecar has no schema registry'],
    [{ ...plain, initialOffset: 'middle' }, 'metadata initialOffset must be "newest" or "oldest"'],
    [{ ...plain, heartbeatInterval: '9s' }, 'heartbeatInterval at most a third of it'],
    [{ ...plain, excludeHeaderMetaRegex: '(' }, 'metadata excludeHeaderMetaRegex must be a regular expression'],
  ])('%j is refused', async (values, problem) => {
    const { problems } = await found(values);
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems.join()).not.toContain('opensesame');
  });

  test.each([
    [{ ...plain, version: '2.0.0', consumeRetryInterval: '1s' }, 'no use for metadata'],
    [{ ...login, disableTls: 'true' }, 'in the clear'],
    [{ ...login, skipVerify: 'true' }, 'the broker may be anybody'],
  ])('%j is noted', async (values, note) => {
    expect(await found(values)).toEqual({ problems: [], notes: [expect.stringContaining(note)] });
  });

  test.runIf(hasBroker())('a component of a file works, with Dapr’s own names', async () => {
    await using broker = await KafkaTestBroker.start();
    const values = {
      brokers: broker.brokers.join(),
      authType: 'none',
      consumerID: '{appID}-1',
      initialOffset: 'oldest',
    };
    const { options } = await load(component('pubsub', 'pubsub.kafka', metadata(values)));
    const [made] = options.components ?? [];
    if (made === undefined || !('topics' in made)) throw new Error('no component');
    const topic = `file-${process.pid}`;
    const subscriptions = [{ topic, route: '/in' }];
    await using world = await BrokerWorld.start({ component: made, appId: 'orders', subscriptions });
    await world.publish(topic, { id: 1 });
    expect((await world.received('/in', 1))[0]?.data).toEqual({ id: 1 });
  });
});
