import { expect, test } from 'vitest';
import { isSidecarError, memoryPubSub } from '../../src/index.ts';
import type { PubSubDefinition } from '../../src/kit/index.ts';
import { startWorld } from '../support/world.ts';

const DOWN = new Error('the broker at 127.0.0.1:1 is down');

/** A component whose broker does not answer at first. */
function down(isDown: () => boolean): PubSubDefinition {
  const definition = memoryPubSub('broker');
  return {
    ...definition,
    open: async (context) => {
      const component = await definition.open(context);
      const { publish, subscribe, close } = component;
      return {
        publish: publish.bind(component),
        subscribe: async (options) => {
          if (isDown()) throw DOWN;
          return subscribe.call(component, options);
        },
        close: close.bind(component),
      };
    },
  };
}

test('subscribe() on a broker that is down rejects with an error of the API, and may be called again', async () => {
  let isDown = true;
  await using world = await startWorld({ components: [down(() => isDown)] });
  const subscribe = () => world.sidecar.pubsub.subscribe('broker', 'orders', () => undefined);
  const error: unknown = await subscribe().catch((reason: unknown) => reason);
  expect(isSidecarError(error)).toBe(true);
  expect(error).toMatchObject({
    code: 'ERR_PUBSUB_SUBSCRIBE',
    status: 500,
    message: `error when subscribing to topic orders in pubsub broker: ${DOWN.message}`,
    cause: DOWN,
  });
  isDown = false;
  await using subscription = await subscribe();
  expect(subscription).toBeDefined();
});
