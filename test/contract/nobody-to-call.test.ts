import { expect, onTestFinished, test } from 'vitest';
import { memoryPubSub, Sidecar, type SidecarOptions } from '../../src/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { RecordingLogger } from '../support/logger.ts';

const ORDERS = { pubsubName: 'pubsub', topic: 'orders', route: '/orders' };
const NOBODY =
  'a subscription has no application to call, its messages wait: set the option app (--app-port of the command)';

/** The warnings of a start. */
async function warningsOf(options: Partial<SidecarOptions>) {
  const logger = new RecordingLogger();
  const components = [memoryPubSub('pubsub')];
  const sidecar = new Sidecar({ appId: 'shop', components, clock: virtualClock(), logger, ...options });
  onTestFinished(() => sidecar.stop());
  await sidecar.start();
  return logger.at('warn').map(({ message, details }) => ({ message, ...details }));
}

test('a route without an application is warned about at the start, with its topic', async () => {
  const bills = { pubsubName: 'pubsub', topic: 'bills', routes: { default: '/bills' }, group: 'audit' };
  expect(await warningsOf({ subscriptions: [ORDERS, bills] })).toEqual([
    { message: NOBODY, pubsubName: 'pubsub', topic: 'orders', group: '', routes: ['/orders'] },
    { message: NOBODY, pubsubName: 'pubsub', topic: 'bills', group: 'audit', routes: ['/bills'] },
  ]);
});

test('one that is refused is warned about for that only', async () => {
  const warnings = await warningsOf({ subscriptions: [{ ...ORDERS, pubsubName: 'pubsb' }] });
  expect(warnings.map(({ message }) => message)).toEqual(['subscription refused']);
});

test('no warning with an application', async () => {
  const app = {
    fetch: ({ url }: Request) =>
      url.endsWith('/subscribe')
        ? new Response('[]', { headers: { 'content-type': 'application/json' } })
        : new Response(null, { status: 404 }),
  };
  expect(await warningsOf({ app, subscriptions: [ORDERS] })).toEqual([]);
});
