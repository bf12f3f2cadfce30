import { describe, expect, test } from 'vitest';
import { loadMqttPacket } from '../../../src/components/mqtt/driver.ts';
import { type MqttPubSubOptions, mqttPubSub } from '../../../src/components/mqtt/index.ts';
import { clientIdOf, filterProblem, sessionKey, sharedFilter } from '../../../src/components/mqtt/names.ts';

const url = 'mqtt://app:opensesame@broker';

function problemOf(options: object): string {
  try {
    // The cast is what plain JavaScript does.
    mqttPubSub('pubsub', options as MqttPubSubOptions);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}

describe('options of mqttPubSub', () => {
  test.each([
    [{}, 'url in options of mqttPubSub "pubsub": expected one like "mqtt://user:password@host:1883"'],
    [{ url: 'wss://app:opensesame@broker' }, 'expected one like'],
    [{ url: 'mqtt://app:%opensesame@broker' }, 'expected one like'],
    [
      { url: 'mqtt://broker', password: 'opensesame' },
      'password in options of mqttPubSub "pubsub": expected a username with it',
    ],
    [
      { url, protocolVersion: 3 },
      'protocolVersion in options of mqttPubSub "pubsub" is 3: expected 5, or 4 for MQTT 3.1.1',
    ],
    [{ url, keepAlive: 1 }, ', of 2000 ms or more and 65535000 ms at most'],
    [{ url, receiveMaximum: 65_536 }, 'expected a whole number from 1 to 65535'],
    [{ url, retain: 'false' }, 'expected true or false'],
    [{ url, consumerId: '' }, 'consumerId in options of mqttPubSub "pubsub" is ""'],
    [{ url, clientIdPrefix: 7 }, 'expected a text'],
    [
      { url, sharedSubscription: {} },
      'instanceId in sharedSubscription in options of mqttPubSub "pubsub" is undefined: expected a name of this process',
    ],
    [{ url, sharedSubscription: { instance: '1' } }, 'unknown field "instance"'],
    [
      { url, tls: { cert: '-----BEGIN CERTIFICATE-----\nx' } },
      'tls in options of mqttPubSub "pubsub": expected true, false or an object with options of tls.connect: ',
    ],
    [{ url, clientId: 'x' }, 'unknown field "clientId"'],
  ])('%j: the error says what was expected', (options, problem) => {
    expect(problemOf(options)).toContain(problem);
    expect(problemOf(options)).not.toContain('opensesame');
  });

  test('its type tells the version', () => {
    expect(mqttPubSub('pubsub', { url }).type).toBe('pubsub.mqtt5');
    expect(mqttPubSub('pubsub', { url, protocolVersion: 4 }).type).toBe('pubsub.mqtt3');
  });

  test('a missing driver is named', async () => {
    await expect(loadMqttPacket('pubsub.mqtt5', 'mqtt-packet-missing')).rejects.toThrow(
      'The pub/sub component of type pubsub.mqtt5 needs the package mqtt-packet-missing: run "npm install mqtt-packet-missing@9".',
    );
  });
});

describe('names on MQTT', () => {
  test.each(['a+/b', '#/a', 'a#', '', 'x'.repeat(65_536), 'half \ud800'])(
    '%.9j is no topic of a subscription',
    (topic) => {
      expect(filterProblem(topic)).toContain('MQTT cannot subscribe to topic');
    },
  );

  test.each(['#', '+', 'a/+/b/#', '/', ' ', '$SYS/#', '$share/group/a/#'])('%j is one', (topic) => {
    expect(filterProblem(topic)).toBeUndefined();
  });

  test('a group may have any name in a shared subscription, and a topic may name one itself', () => {
    expect(sharedFilter('a/b', 'shop/grüße+#')).toBe('$share/shop%2Fgr%C3%BC%C3%9Fe%2B%23/a/b');
    expect(sharedFilter('$share/own/a', 'shop')).toBe('$share/own/a');
  });

  test('client IDs are short, and the same each time', () => {
    const key = sessionKey(['orders', 'topic']);
    expect(key).toBe(sessionKey(['orders', 'topic']));
    expect(key).not.toBe(sessionKey(['orderst', 'opic']));
    expect(clientIdOf('', key)).toMatch(/^[0-9a-f]{22}$/);
    expect(clientIdOf(`größe/${'x'.repeat(100)}`, key)).toMatch(/^gr__e_x{34}-[0-9a-f]{22}$/);
  });
});
