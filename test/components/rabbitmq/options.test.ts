import { describe, expect, test } from 'vitest';
import { memoryState } from '../../../src/components/memory/memory-store.ts';
import { loadAmqp } from '../../../src/components/rabbitmq/driver.ts';
import { type RabbitmqPubSubOptions, rabbitmqPubSub } from '../../../src/components/rabbitmq/index.ts';
import { queuePlanOf, type Settings } from '../../../src/components/rabbitmq/settings.ts';
import { Collector, textMessage } from '../../../src/kit/collector.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { freePort } from '../../support/http.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { serverAt } from './broker.ts';

const SETTINGS: Settings = {
  ...{ appId: 'orders', consumerId: undefined, exchangeKind: undefined, queueType: undefined },
  ...{ durable: true, exchangeAutoDelete: true, queueAutoDelete: false, deadLetterExchange: false },
  ...{ maxLength: undefined, maxLengthBytes: undefined },
};

const IN = 'in options of rabbitmqPubSub "pubsub"';
const URL_WRONG = `url ${IN}: expected one like "amqp://user:password@host:5672/vhost"`;

describe('options', () => {
  test.each<[object, string]>([
    [{ uri: 'amqp://x' }, 'options of rabbitmqPubSub "pubsub": unknown field "uri"'],
    [{ url: 'redis://:opensesame@x' }, URL_WRONG],
    [{ url: 'amqp://u:100%opensesame@x' }, URL_WRONG],
    [{ url: 'amqp://x/100%' }, URL_WRONG],
    [{ url: 'amqp://:opensesame@x/a/b' }, URL_WRONG],
    [{ url: '' }, `url ${IN}: expected a text that is not empty`],
    [{ queueType: 'stream' }, `queueType ${IN} is "stream": expected one of quorum, classic`],
    [{ exchangeKind: 'x' }, 'expected one of fanout, topic, direct, headers'],
    [{ queueType: 'quorum', durable: false }, 'expected classic, because quorum queues are durable'],
    [{ queueType: 'quorum', queueAutoDelete: true }, 'expected classic, because'],
    [{ durable: 'yes' }, 'expected true or false'],
    [{ maxPrefetch: 70_000 }, `maxPrefetch ${IN} is 70000: expected a whole number from 1 to 65535`],
    [{ messageTtl: 0 }, 'messageTtl in options of rabbitmqPubSub "pubsub" is 0'],
    [{ tls: {} }, `tls ${IN}: expected a url with it that begins with amqps://`],
    [{ url: 'amqps://x', tls: true }, `tls ${IN}: expected an object with options of tls.connect`],
    [{ saslExternal: true }, `saslExternal ${IN} is true: expected a url with it that begins with amqps://`],
  ])('%j is refused', (options, message) => {
    const make = (): unknown => rabbitmqPubSub('pubsub', options as RabbitmqPubSubOptions);
    expect(make).toThrow(message);
    expect(make).not.toThrow('opensesame');
  });

  test.each([
    [{}, 'localhost:5672', { username: 'guest', password: 'guest', vhost: '%2F', heartbeat: 10 }],
    [
      { url: 'amqp://a%40b:p%2Fw@rabbit/my%2Fhost' },
      'rabbit:5672/my/host',
      { username: 'a@b', password: 'p/w', vhost: 'my%2Fhost' },
    ],
    [{ url: 'amqps://[::1]:5999', username: 'u', password: 'p' }, '[::1]:5999', { hostname: '::1', username: 'u' }],
    [{ heartbeat: 0 }, 'localhost:5672', { heartbeat: 0 }],
  ])('%j: the server is %s', (options, place, target) => {
    const server = serverAt(options);
    expect(server.name).toBe(`RabbitMQ at ${place}`);
    expect(server.target).toMatchObject(target);
  });

  test('a missing driver is told what to install', async () => {
    await expect(loadAmqp('pubsub.rabbitmq', 'amqplib-that-is-not-there')).rejects.toThrow(
      'The pub/sub component of type pubsub.rabbitmq needs the package amqplib-that-is-not-there: run "npm install',
    );
  });
});

describe('the queue of a subscription', () => {
  test.each([
    ['orders', {}, 'orders-t'],
    ['orders/audit', {}, 'orders/audit-t'],
    ['orders', { consumerId: 'team' }, 'team-t'],
    ['orders/audit', { consumerId: 'team' }, 'team/audit-t'],
    ['orders-2', { consumerId: 'team' }, 'orders-2-t'],
  ])('of group %s with %j is %s', (group, more, name) => {
    const plan = queuePlanOf({ ...SETTINGS, ...more }, { topic: 't', group, metadata: {} }, 3);
    expect(plan.queue.name).toBe(name);
  });

  test('has no limit of deliveries on RabbitMQ 4, which would drop messages', () => {
    const of = (major: number) =>
      queuePlanOf(SETTINGS, { topic: 't', group: 'g', metadata: {} }, major).queue.arguments;
    expect(of(3)).toEqual({ 'x-queue-type': 'quorum' });
    expect(of(4)).toEqual({ 'x-queue-type': 'quorum', 'x-delivery-limit': 2_147_483_647 });
  });

  test.each([
    [{ queueAutoDelete: true }, 'classic'],
    [{ durable: false }, 'classic'],
    [{}, 'quorum'],
  ])('with %j is a %s queue', (more, type) => {
    const plan = queuePlanOf({ ...SETTINGS, ...more }, { topic: 't', group: 'g', metadata: {} }, 3);
    expect(plan.queue.arguments).toEqual({ 'x-queue-type': type });
  });
});

describe('without a server', () => {
  test('a publish fails when its time is over, a subscription at once, and close returns', async () => {
    const [logger, port] = [new RecordingLogger(), await freePort()];
    const state = await memoryState().open({ clock: systemClock, logger });
    const url = `amqp://app:opensesame@127.0.0.1:${port}`;
    const definition = rabbitmqPubSub('pubsub', { url, publishTimeout: 200 });
    const component = await definition.open({
      appId: 'orders',
      clock: systemClock,
      logger,
      state,
      track: () => () => {},
    });
    const message = `RabbitMQ at 127.0.0.1:${port} did not confirm the message within 200 ms`;
    await expect(component.publish([textMessage('t', 'a')])).rejects.toThrow(message);
    const refused = `RabbitMQ at 127.0.0.1:${port} cannot be reached: connect ECONNREFUSED`;
    await expect(Collector.join(component, { topic: 't' })).rejects.toThrow(refused);
    await component.close();
    expect(JSON.stringify(logger.lines)).not.toContain('opensesame');
  });
});
