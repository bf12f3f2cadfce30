import { randomUUID } from 'node:crypto';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PubSubComponent } from '../../../src/components/pubsub.ts';
import { acknowledge, Collector, eventually, publishTexts, textMessage } from '../../../src/kit/collector.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { hasNats } from '../../support/servers.ts';
import { ask, NatsForTests, openJetStream } from './nats-world.ts';

interface StreamInfo {
  readonly config: Record<string, unknown>;
  readonly state: { readonly messages: number };
}

describe.skipIf(!hasNats())('streams', () => {
  let server: NatsForTests;
  let raw: NatsConnection;
  beforeAll(async () => {
    server = await NatsForTests.own(['max_payload: 64KB']);
    raw = await server.raw();
  });
  afterAll(async () => {
    await raw?.close();
    await server?.[Symbol.asyncDispose]();
  });

  const newTopic = (): string => `streams-${randomUUID()}`;
  const info = (stream: string): Promise<StreamInfo> => ask<StreamInfo>(raw, `STREAM.INFO.${stream}`);
  const problemOf = async (component: PubSubComponent, topic: string): Promise<string | undefined> =>
    (await component.publish([textMessage(topic, 'a')]))[0]?.error.message;

  test('without a stream, publishes and subscriptions fail and name the option', async () => {
    const [component, topic] = [await openJetStream(server.url, { createStream: false }), newTopic()];
    const problem = `no stream of ${server.url.replace('nats://', 'NATS at ')} has the subject "${topic}": add a stream for it, or let the component create one (option createStream)`;
    expect(await problemOf(component, topic)).toBe(problem);
    await expect(Collector.join(component, { topic })).rejects.toThrow(problem);
    await component.close();
  });

  test('createStream makes one stream for each topic, on disk, that drops nothing', async () => {
    const [component, topic] = [await openJetStream(server.url), newTopic()];
    await Promise.all(['a', 'b', 'c'].map((text) => publishTexts(component, topic, [text])));
    const { config, state } = await info(`insidecar-${topic}`);
    expect(config).toMatchObject({
      ...{ subjects: [topic], retention: 'limits', storage: 'file', discard: 'new' },
      ...{ max_age: 0, max_bytes: -1, max_msgs: -1, num_replicas: 1 },
    });
    expect(state.messages).toBe(3);
    await component.close();
  });

  test('a created stream that is deleted is created again', async () => {
    const [component, topic] = [await openJetStream(server.url), newTopic()];
    const consumer = await Collector.join(component, { topic }, acknowledge);
    await publishTexts(component, topic, ['a']);
    await ask(raw, `STREAM.DELETE.insidecar-${topic}`);
    await publishTexts(component, topic, ['b']);
    expect((await info(`insidecar-${topic}`)).state.messages).toBe(1);
    await eventually('it is consumed again', () => consumer.texts.includes('b'));
    await component.close();
  });

  test('createStream leaves a subject to the stream that has it', async () => {
    const prefix = randomUUID();
    await ask(raw, `STREAM.CREATE.${prefix}`, { name: prefix, subjects: [`${prefix}.>`] });
    const component = await openJetStream(server.url);
    await publishTexts(component, `${prefix}.orders.created`, ['a']);
    const consumer = await Collector.join(component, { topic: `${prefix}.orders.created` });
    expect((await consumer.expect(1)).map(({ attempt }) => attempt)).toEqual([1]);
    expect((await info(prefix)).state.messages).toBe(1);
    await component.close();
  });

  test('a work queue of an operator is consumed by one group, and emptied', async () => {
    const topic = newTopic();
    await ask(raw, `STREAM.CREATE.${topic}`, { name: topic, subjects: [topic], retention: 'workqueue' });
    const component = await openJetStream(server.url);
    const consumer = await Collector.join(component, { topic }, acknowledge);
    await publishTexts(component, topic, ['a', 'b']);
    await consumer.expect(2);
    expect((await info(topic)).state.messages).toBe(0);
    await expect(Collector.join(component, { topic, group: 'other' })).rejects.toThrow(
      /^NATS at .* reports: .*workqueue/,
    );
    await component.close();
  });

  test('a full stream refuses messages and keeps those that it has', async () => {
    const [component, topic] = [await openJetStream(server.url, { createStream: { maxBytes: 4_000 } }), newTopic()];
    const data = Buffer.alloc(1_000);
    const messages = ['1', '2', '3', '4', '5'].map((text) => textMessage(topic, text, { data }));
    const failures = await component.publish(messages);
    expect(failures.map(({ index }) => index)).toEqual([3, 4]);
    expect(failures[0]?.error.message).toMatch(/^NATS at .* reports: maximum bytes exceeded \(JetStream error \d+\)$/);
    expect((await info(`insidecar-${topic}`)).state.messages).toBe(3);
    await component.close();
  });

  test('a message above max_payload fails with both numbers, and no other does', async () => {
    const [component, topic] = [await openJetStream(server.url), newTopic()];
    const data = Buffer.alloc(65_536);
    const failures = await component.publish([
      textMessage(topic, 'a'),
      textMessage(topic, 'b', { data }),
      textMessage(topic, 'c'),
    ]);
    expect(failures.map(({ index }) => index)).toEqual([1]);
    expect(failures[0]?.error.message).toMatch(
      /^the message has 65\d{3} bytes with its headers, and NATS at .* accepts 65536/,
    );
    await component.close();
  });

  test.each([
    ['the server', 65_536],
    ['the stream', 2_000],
  ])('a dead letter that is too large for %s with its origin is stored without it', async (_what, limitBytes) => {
    const [component, topic] = [await openJetStream(server.url), newTopic()];
    await ask(raw, `STREAM.CREATE.${topic}`, { name: topic, subjects: [topic], max_msg_size: limitBytes });
    const deadLetter = {
      topic: 'orders',
      group: 'app',
      reason: 'x'.repeat(400),
      attempts: 3,
      deadAt: 1_750_000_000_000,
    };
    const letter = textMessage(topic, 'a', { data: Buffer.alloc(limitBytes - 300), deadLetter });
    for (const one of [letter, textMessage(topic, 'b', { deadLetter })])
      expect(await component.publish([one])).toEqual([]);
    const collector = await Collector.join(component, { topic }, acknowledge);
    const origins = (await collector.expect(2)).map(({ message }) => message.deadLetter);
    expect(origins).toEqual([undefined, deadLetter]);
    await component.close();
  });

  test('a topic that is too long for the protocol fails alone', async () => {
    const [component, topic] = [await openJetStream(server.url), newTopic()];
    const failures = await component.publish([textMessage('x'.repeat(5_000), 'a'), textMessage(topic, 'b')]);
    expect(failures.map(({ index, error }) => [index, error.message])).toEqual([
      [0, 'the subject of the topic has 5000 bytes: expected at most 3000'],
    ]);
    await component.close();
  });

  test('a topic cannot name the interface of the server', async () => {
    const [component, topic] = [await openJetStream(server.url), newTopic()];
    await publishTexts(component, topic, ['a']);
    await component.publish([textMessage(`$JS.API.STREAM.DELETE.insidecar-${topic}`, '', { data: Buffer.alloc(0) })]);
    expect((await info(`insidecar-${topic}`)).state.messages).toBe(1);
    await component.close();
  });

  test('a second message with an ID is dropped by the stream, and told of; one on another topic is not', async () => {
    const [prefix, logger] = [randomUUID(), new RecordingLogger()];
    await ask(raw, `STREAM.CREATE.${prefix}`, { name: prefix, subjects: [`${prefix}.*`] });
    const component = await openJetStream(server.url, {}, logger);
    await publishTexts(component, `${prefix}.in`, ['a']);
    await publishTexts(component, `${prefix}.dead`, ['a']);
    expect(logger.lines).toEqual([]);
    await publishTexts(component, `${prefix}.in`, ['a']);
    expect((await info(prefix)).state.messages).toBe(2);
    expect(logger.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', expect.stringContaining('got another one with its ID a short time ago')],
    ]);
    await component.close();
  });

  test('a subject that something else responds to is no success', async () => {
    const [component, topic] = [await openJetStream(server.url), newTopic()];
    const responder = raw.subscribe(topic, { callback: (_error, message) => void message.respond('thanks') });
    await raw.flush();
    expect(await problemOf(component, topic)).toContain('does not store the message: something else replied');
    responder.unsubscribe();
    await component.close();
  });

  test('too little room at the server is told', async () => {
    await using small = await NatsForTests.own([], 'max_file: 1MB');
    const component = await openJetStream(small.url, { createStream: { maxBytes: 100_000_000 } });
    expect(await problemOf(component, newTopic())).toMatch(/insufficient storage resources available/);
    await component.close();
  });

  test('a server without JetStream is told', async () => {
    await using plain = await NatsForTests.own([], null);
    const component = await openJetStream(plain.url);
    const problem = /^NATS at .* has no JetStream: nobody responds at \$JS\.API \("nats-server -js" enables it\)$/;
    expect(await problemOf(component, newTopic())).toMatch(problem);
    await expect(Collector.join(component, { topic: newTopic() })).rejects.toThrow(problem);
    await component.close();
  });
});
