import { connectAsync } from 'mqtt';
import { describe } from 'vitest';
import { brokerFeatures } from '../../support/broker-features.ts';
import { hasBroker, MqttTestBroker } from './mqtt-test-broker.ts';

const ALONE = 'processes of one application have one session, and the broker serves one connection of it';

describe.runIf(hasBroker())('features', () => {
  for (const protocolVersion of [5, 4] as const)
    brokerFeatures(
      protocolVersion === 5 ? 'MQTT 5' : 'MQTT 3.1.1',
      async () => {
        const broker = await MqttTestBroker.start();
        const other = await connectAsync(broker.url);
        return {
          port: broker.port,
          define: ({ port = broker.port, ...options } = {}) =>
            broker.define({ url: `mqtt://127.0.0.1:${port}`, protocolVersion, ...options }),
          publishForeign: async (topic, data) => void (await other.publishAsync(topic, Buffer.from(data), { qos: 1 })),
          [Symbol.asyncDispose]: async () => {
            await other.endAsync();
            await broker[Symbol.asyncDispose]();
          },
        };
      },
      { sharing: ALONE, ...(protocolVersion === 4 ? { metadata: true } : {}) },
    );
});
