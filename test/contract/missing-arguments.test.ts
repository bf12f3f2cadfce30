/** What plain JavaScript leaves out, such as `process.env.TOPIC`, is an error of the API: never lost, never a TypeError. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { durablePubSub, isSidecarError, memoryPubSub, Sidecar } from '../../src/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { RecordingLogger } from '../support/logger.ts';

type Call = (sidecar: Sidecar, missing: never) => unknown;

async function errorOf(component: (name: string) => ReturnType<typeof memoryPubSub>, call: Call, value: unknown) {
  const clock = virtualClock();
  const sidecar = new Sidecar({ appId: 'shop', components: [component('p')], clock, logger: new RecordingLogger() });
  onTestFinished(() => sidecar.stop());
  await sidecar.start();
  try {
    await call(sidecar, value as never);
    return undefined;
  } catch (error) {
    return isSidecarError(error) ? [error.code, error.message] : error;
  }
}

const TEXT = 'expected a text that is not empty';

describe.each([
  ['memoryPubSub', memoryPubSub],
  ['durablePubSub', durablePubSub],
])('%s', (_, component) => {
  test.each<[what: string, call: Call, value: unknown, code: string, problem: string]>([
    [
      'publish without a topic',
      ({ pubsub }, topic) => pubsub.publish('p', topic, { id: 1 }),
      undefined,
      'ERR_INVALID_ARGUMENT',
      `topic is undefined, ${TEXT}, in pubsub p`,
    ],
    [
      'publish to a number',
      ({ pubsub }, topic) => pubsub.publish('p', topic, { id: 1 }),
      5,
      'ERR_INVALID_ARGUMENT',
      `topic is 5, ${TEXT}, in pubsub p`,
    ],
    [
      'publishBulk without a topic',
      ({ pubsub }, topic) => pubsub.publishBulk('p', topic, [{ entryId: '1', event: 1 }]),
      undefined,
      'ERR_INVALID_ARGUMENT',
      `topic is undefined, ${TEXT}, in pubsub p`,
    ],
    [
      'publish without a component',
      ({ pubsub }, name) => pubsub.publish(name, 'orders', 1),
      undefined,
      'ERR_PUBSUB_NOT_FOUND',
      'pubsub undefined is not found: expected p',
    ],
    [
      'publishBulk of an object',
      ({ pubsub }, entries) => pubsub.publishBulk('p', 'orders', entries),
      {},
      'ERR_INVALID_ARGUMENT',
      'entries of publishBulk are an object: expected an array',
    ],
    [
      'subscribe without a topic',
      ({ pubsub }, topic) => pubsub.subscribe('p', topic, () => undefined),
      undefined,
      'ERR_INVALID_ARGUMENT',
      'the topic of subscribe is undefined: expected subscribe(pubsubName, topic, handler), or subscribe(topic, handler) with what defineTopic returns',
    ],
    [
      'pause without a group',
      ({ pubsub }, queue) => pubsub.queues.pause(queue),
      { pubsubName: 'p', topic: 'orders' },
      'ERR_INVALID_ARGUMENT',
      `group of the queue is undefined: ${TEXT}`,
    ],
    [
      'addGroup without a group',
      ({ pubsub }, queue) => pubsub.queues.addGroup(queue),
      { pubsubName: 'p', topic: 'orders' },
      'ERR_INVALID_ARGUMENT',
      `group of the queue is undefined: ${TEXT}`,
    ],
    [
      'messages without a topic',
      ({ pubsub }, queue) => pubsub.queues.messagesPage(queue),
      { pubsubName: 'p', group: 'shop' },
      'ERR_INVALID_ARGUMENT',
      `topic of the queue is undefined: ${TEXT}`,
    ],
    [
      'purge without a component',
      ({ pubsub }, queue) => pubsub.queues.purge(queue),
      { topic: 'orders', group: 'shop' },
      'ERR_PUBSUB_NOT_FOUND',
      'pubsub undefined is not found: expected p',
    ],
    [
      'redeliver without a queue',
      ({ pubsub }, queue) => pubsub.queues.redeliver(queue, 'all'),
      undefined,
      'ERR_INVALID_ARGUMENT',
      'the queue is undefined: expected an object',
    ],
    [
      'redeliver to no group',
      ({ pubsub }, to) => pubsub.queues.redeliver({ pubsubName: 'p', topic: 'dead', group: 'shop' }, 'all', { to }),
      { topic: 'orders' },
      'ERR_INVALID_ARGUMENT',
      `group of the option to is undefined: ${TEXT}`,
    ],
    [
      'explain without a topic',
      ({ pubsub }, topic) => pubsub.explain('p', topic, 1),
      undefined,
      'ERR_INVALID_ARGUMENT',
      `topic is undefined, ${TEXT}, in pubsub p`,
    ],
  ])('%s', async (_what, call, value, code, problem) => {
    expect(await errorOf(component, call, value)).toEqual([code, problem]);
  });
});

test.each<[what: string, call: Call, problem: string]>([
  ['target', ({ invocation }, none) => invocation.invoke(none, '/'), 'the target is undefined: expected an app'],
  [
    'method',
    ({ invocation }, none) => invocation.invoke('x', '/', { method: none, body: 1 }),
    'the HTTP method is undefined: expected one',
  ],
  ['path', ({ invocation }, none) => invocation.invoke('x', none), 'the path is undefined: expected a text'],
])('invoke without a %s', async (_what, call, problem) => {
  expect(await errorOf(memoryPubSub, call, undefined)).toEqual([
    'ERR_INVALID_ARGUMENT',
    expect.stringContaining(problem),
  ]);
});
