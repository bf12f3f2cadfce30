import { getMaxListeners, setMaxListeners } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { defineWorkflow, memoryPubSub, Sidecar } from '../../src/index.ts';
import { cancelTokenOfSignal, signalOfCancelToken } from '../../src/util/cancel-token.ts';
import { sleep, systemClock } from '../../src/util/clock.ts';
import { RecordingLogger } from '../support/logger.ts';

const warnings: string[] = [];
const keep = ({ name }: Error): void => void warnings.push(name);
beforeEach(() => {
  warnings.length = 0;
  process.on('warning', keep);
});
afterEach(() => process.removeListener('warning', keep));

/** Warnings come in the next tick. */
async function warned(): Promise<readonly string[]> {
  await new Promise((resolve) => setImmediate(resolve));
  return warnings;
}

test('many may wait for one signal: Node warns of no leak', async () => {
  const controller = new AbortController();
  const waits = Array.from({ length: 30 }, () => sleep(systemClock, 60_000, controller.signal));
  expect(await warned()).toEqual([]);
  controller.abort(new Error('over'));
  expect(await Promise.allSettled(waits)).toSatisfy((all: PromiseSettledResult<void>[]) =>
    all.every(({ status }) => status === 'rejected'),
  );
});

test('many subscriptions that wait for their broker warn of no leak', async () => {
  const memory = memoryPubSub('pubsub');
  const component = {
    ...memory,
    open: async (context: Parameters<typeof memory.open>[0]) => {
      const opened = await memory.open(context);
      return {
        publish: (messages: Parameters<typeof opened.publish>[0]) => opened.publish(messages),
        close: () => opened.close(),
        subscribe: () => Promise.reject(new Error('the broker is down')),
      };
    },
  };
  const subscriptions = Array.from({ length: 30 }, (_none, nth) => ({
    pubsubName: 'pubsub',
    topic: `t${nth}`,
    route: '/',
  }));
  const app = { fetch: () => Response.json([]) };
  const sidecar = new Sidecar({
    appId: 'shop',
    app,
    components: [component],
    subscriptions,
    logger: new RecordingLogger(),
  });
  await sidecar.start();
  await sidecar.ready();
  expect(await warned()).toEqual([]);
  await sidecar.stop();
});

test("many waits with one signal of the user's warn of no leak", async () => {
  const { signal } = new AbortController();
  const endless = defineWorkflow('endless', (ctx) => ctx.waitForEvent('never'));
  const sidecar = new Sidecar({ appId: 'shop', stopTimeout: 0 });
  sidecar.workflows.register(endless);
  await sidecar.start();
  const runs = await Promise.all(Array.from({ length: 30 }, () => sidecar.workflows.start(endless)));
  const waits = runs.map((run) => run.ended({ signal, timeout: 50 }));
  expect(await warned()).toEqual([]);
  await Promise.allSettled(waits);
  await sidecar.stop();
});

test('a limit that the user has set for a signal is kept', async () => {
  const { signal } = new AbortController();
  setMaxListeners(3, signal);
  cancelTokenOfSignal(signal).onAbort(() => undefined);
  expect(getMaxListeners(signal)).toBe(3);
  expect(signalOfCancelToken(cancelTokenOfSignal(signal)).aborted).toBe(false);
});
