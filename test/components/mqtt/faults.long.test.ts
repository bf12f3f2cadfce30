import { describe } from 'vitest';
import { type MqttPubSubOptions, mqttPubSub } from '../../../src/components/mqtt/index.ts';
import { brokerFaults } from '../../support/broker-faults.ts';
import { hasMosquitto, startMosquitto } from '../../support/servers.ts';

const NOT_SYNCED = 'Mosquitto writes its sessions to the disk every so often, and at a regular end';
const FORGOTTEN =
  'Mosquitto 2.0 does not restore shared subscriptions: until an instance subscribes again, messages are dropped';
const ONE_INSTANCE = 'processes of one group need an instance ID each, and these have the same options';

describe.runIf(hasMosquitto())('faults', () => {
  const table: readonly (readonly [string, Omit<MqttPubSubOptions, 'url'>])[] = [
    ['MQTT 5', { protocolVersion: 5 }],
    ['MQTT 3.1.1', { protocolVersion: 4 }],
    ['MQTT 5 with shared subscriptions', { sharedSubscription: { instanceId: '0' } }],
  ];
  for (const [name, options] of table)
    brokerFaults(
      name,
      async () => ({
        server: await startMosquitto(),
        entry: 'mqtt',
        factory: 'mqttPubSub',
        options: (port) => ({ url: `mqtt://127.0.0.1:${port}`, ...options }),
        define: (port) => mqttPubSub('pubsub', { url: `mqtt://127.0.0.1:${port}`, ...options }),
      }),
      {
        redeliveryMs: 5_000,
        losesAtKill: NOT_SYNCED,
        sharing: ONE_INSTANCE,
        ...('sharedSubscription' in options ? { losesAtEnd: FORGOTTEN } : {}),
      },
    );
});
