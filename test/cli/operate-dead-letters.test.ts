/** Dead letters of an application that mounts an inspector, and the command against it. */
import { expect, onTestFinished, test } from 'vitest';
import { memoryPubSub, nodeHandler, Sidecar } from '../../src/index.ts';
import { type InspectOptions, inspect } from '../../src/inspector/index.ts';
import { listen } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';
import { PATIENCE, runHere } from './cli.ts';
import { stubInspector } from './stub-inspector.ts';

const TOKEN = 'open-sesame-open-sesame';
const FAILED = { pubsubName: 'pubsub', topic: 'failed', group: 'shop' };

/** A shop that takes orders of up to 100; others become dead letters. */
async function openShop(options: Pick<InspectOptions, 'payloads'> = {}) {
  const sidecar = new Sidecar({ appId: 'shop', logger: new RecordingLogger(), components: [memoryPubSub('pubsub')] });
  await sidecar.start();
  const orders: unknown[] = [];
  const take = ({ data }: { readonly data?: { readonly amount?: number } | undefined }): void => {
    orders.push(data);
    if ((data?.amount ?? 0) > 100) throw new Error('too much');
  };
  await sidecar.pubsub.subscribe<{ amount?: number }>('pubsub', 'orders', take, {
    deadLetterTopic: FAILED.topic,
    retry: { maxRetries: 0 },
  });
  const server = await listen(nodeHandler(inspect(sidecar, { token: TOKEN, ...options })));
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await sidecar.stop();
  });
  const url = `${server.url}/`;
  const run = (...args: readonly string[]): ReturnType<typeof runHere> =>
    runHere(['dead-letters', ...args, '--url', url], { INSIDECAR_INSPECT_TOKEN: TOKEN });
  const failedKey = async (): Promise<string> => {
    const keys = async (): Promise<string[]> =>
      (await sidecar.pubsub.queues.messagesPage(FAILED)).messages.map(({ key }) => key);
    await expect.poll(keys, PATIENCE).toHaveLength(1);
    return (await keys())[0] ?? '';
  };
  return { sidecar, orders, run, failedKey };
}

test.each(['none', 'full', () => undefined] as const)(
  'new data of a dead letter with JSON are JSON, where payloads are shown as %s',
  async (payloads) => {
    const { sidecar, orders, run, failedKey } = await openShop({ payloads });
    await sidecar.pubsub.publish('pubsub', 'orders', { amount: 250 });
    const key = await failedKey();
    expect(await run('redeliver', key, '--data', 'twenty-five')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--data must be JSON'),
    });
    expect((await run('redeliver', key, '--data', '{"amount":25}')).stdout).toBe('1 dead letter redelivered\n');
    await expect.poll(() => orders, PATIENCE).toEqual([{ amount: 250 }, { amount: 25 }]);
  },
);

test('control characters in the names of attributes are shown as escapes', async () => {
  const { sidecar, run, failedKey } = await openShop();
  const event = { specversion: '1.0', type: 'order', source: 'tests', id: '1', '\u001b]52;c;x\u0007': 'x' };
  const body = Buffer.from(JSON.stringify({ ...event, data: { amount: 250 } }));
  await sidecar.pubsub.publish('pubsub', 'orders', body, { contentType: 'application/cloudevents+json' });
  const { stdout } = await run('show', await failedKey());
  expect(stdout).toContain('\\u001b]52;c;x\\u0007');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there.
  expect(stdout).not.toMatch(/[\u001b\u0007]/);
});

/** Three queues with dead letters, more than are counted; those of `refunds-failed` cannot be changed. */
async function openLargeShop(): Promise<(...args: readonly string[]) => ReturnType<typeof runHere>> {
  const queues = ['orders', 'refunds', 'parcels'].map((name) => {
    const queue = { pubsubName: 'pubsub', topic: `${name}-failed`, group: 'shop' };
    return { ...queue, ready: 10_000, delayed: 0, inFlight: 0, isCapped: true };
  });
  const messages = queues.map((queue) => ({ queue, key: `key-${queue.topic}`, messageId: '1', payload: {} }));
  const url = await stubInspector(({ path, body }) => {
    if (path === 'queues') return { queues, unsupported: [] };
    if (path === 'dead-letters') return { queues, messages };
    const { queue } = body as { readonly queue: { readonly topic: string } };
    return queue.topic === 'refunds-failed' ? new Error('the broker is away') : { count: 2 };
  });
  return (...args) => runHere([...args, '--url', url]);
}

test.each([
  [['redeliver', '--all'], '4 dead letters redelivered'],
  [['redeliver', 'key-refunds-failed', 'key-orders-failed', 'key-parcels-failed'], '4 dead letters redelivered'],
  [['discard', '--all', '--yes'], '4 dead letters discarded'],
  [['discard', 'key-refunds-failed', 'key-orders-failed', 'key-parcels-failed'], '4 dead letters discarded'],
] as const)('%j: what fails in one queue does not keep the others from it, and is told', async (args, told) => {
  const run = await openLargeShop();
  expect(await run('dead-letters', ...args)).toEqual({
    code: 1,
    stdout: `${told}\n`,
    stderr: expect.stringMatching(
      /^shop at http:\S+\nrefunds-failed\/shop: the broker is away\ninsidecar: 1 of 3 queues could not be changed\n$/,
    ),
  });
});

test.each([
  ['dead-letters', 'discard', '--all'],
  ['queues', 'purge', 'orders-failed'],
  ['queues', 'remove-group', 'orders-failed/shop'],
  ['workflows', 'terminate', '--all'],
])('the question of %s %s names the application, as the line before it does', async (...args) => {
  const { stderr } = await (await openLargeShop())(...args);
  expect(stderr).toMatch(/^shop at http:\S+\ninsidecar: .* (in|of) shop .*\?? Say so with --yes$/m);
});

test.each([
  [['dead-letters', 'discard', '--all'], 'Discard more than 30000 dead letters of'],
  [['queues', 'purge', 'orders-failed'], 'Remove more than 10000 messages of'],
  [['queues', 'remove-group', 'orders-failed/shop'], 'and its more than 10000 messages?'],
])('%j: the question says when there are more than were counted', async (args, question) => {
  const run = await openLargeShop();
  expect((await run(...args)).stderr).toContain(question);
});
