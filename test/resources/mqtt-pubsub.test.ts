import { describe, expect, test } from 'vitest';
import { hasBroker, MqttTestBroker } from '../components/mqtt/mqtt-test-broker.ts';
import { BrokerWorld } from '../support/broker-world.ts';
import { component, findingsOf, load, metadata } from './files.ts';

const url = 'tcp://app:opensesame@broker.internal:1883';

async function found(type: string, values: Readonly<Record<string, string>>) {
  const { problems, notes } = await findingsOf({ 'a.yaml': component('pubsub', type, metadata(values)) });
  const text = (finding: string): string => finding.replace(/^.*?\): /, '');
  return { problems: problems.map(text), notes: notes.map(text) };
}

describe('pub/sub on MQTT in resource files', () => {
  test.each([
    ['pubsub.mqtt3', 'pubsub.mqtt3'],
    ['pubsub.mqtt', 'pubsub.mqtt3'],
    ['pubsub.mqtt5', 'pubsub.mqtt5'],
  ])('%s is %s', async (type, expected) => {
    const { options, notes } = await load(component('pubsub', type, metadata({ url, qos: '1', Retain: 'false' })));
    expect(options.components?.map((made) => [made.name, made.type])).toEqual([['pubsub', expected]]);
    expect(notes).toEqual([]);
  });

  test('scopes of topics hold', async () => {
    const { options } = await load(component('pubsub', 'pubsub.mqtt3', metadata({ url, allowedTopics: 'a,b' })));
    expect(options.components?.[0]).toMatchObject({ topics: { allowedTopics: ['a', 'b'] } });
  });

  test.each([
    [{ qos: '1' }, 'MQTT needs metadata url: "tcp://user:password@host:1883", or ssl for TLS'],
    [{ url, qos: '0' }, 'metadata qos is 0, which loses messages: expected "1"'],
    [{ url, qos: '7' }, 'metadata qos must be "1"'],
    [{ url, receiveMaximum: '0' }, 'metadata receiveMaximum must be a whole number from 1 to 65535'],
    [{ url: 'ssl://broker', clientCert: '-----BEGIN ' }, 'metadata clientCert and clientKey belong together'],
    [{ url: 'ws://:opensesame@broker' }, 'expected one like "mqtt://user:password@host:1883"'],
    [{ url: 'ssl://broker', caCert: 'no certificate' }, 'metadata caCert must be in PEM'],
  ])('%j is refused', async (values, problem) => {
    const { problems } = await found('pubsub.mqtt3', values);
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems.join()).not.toContain('opensesame');
  });

  test.each([
    ['pubsub.mqtt3', { qos: '2' }, 'metadata qos is 2: messages have QoS 1'],
    ['pubsub.mqtt3', { cleanSession: 'True' }, 'metadata cleanSession: the broker forgets'],
    ['pubsub.mqtt3', { caCert: '-----BEGIN ' }, 'have no effect: the url is one without TLS'],
    ['pubsub.mqtt', { producerID: 'p', backOffMaxRetries: '5' }, 'no use for metadata producerID, backOffMaxRetries'],
  ])('%s with %j is noted', async (type, values, note) => {
    const { problems, notes } = await found(type, { url, ...values });
    expect([problems, notes]).toEqual([[], [expect.stringContaining(note)]]);
  });

  test.runIf(hasBroker())('a component of a file works, with Dapr’s own names', async () => {
    await using broker = await MqttTestBroker.start();
    const values = {
      url: broker.url.replace('mqtt:', 'tcp:'),
      consumerID: '{appID}-1',
      qos: '1',
      cleanSession: 'false',
    };
    const { options } = await load(component('pubsub', 'pubsub.mqtt3', metadata(values)));
    const [made] = options.components ?? [];
    if (made === undefined || !('topics' in made)) throw new Error('no component');
    await using world = await BrokerWorld.start({
      component: made,
      appId: 'orders',
      subscriptions: [{ topic: `file-${process.pid}`, route: '/in' }],
    });
    await world.publish(`file-${process.pid}`, { id: 1 });
    expect((await world.received('/in', 1))[0]?.data).toEqual({ id: 1 });
  });
});
