import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { KafkaProducer, OutgoingRecord } from '../../../src/components/kafka/driver.ts';
import { KafkaPublisher } from '../../../src/components/kafka/kafka-publisher.ts';
import { outgoing } from '../../../src/components/kafka/records.ts';
import { OutageLog } from '../../../src/components/outage-log.ts';
import { textMessage } from '../../../src/kit/collector.ts';
import { RecordingLogger } from '../../support/logger.ts';

const ORIGIN = { topic: 'orders', group: 'app', reason: 'x'.repeat(400), attempts: 3, deadAt: 1_750_000_000_000 };

function sizeOf({ value, headers }: OutgoingRecord): number {
  return value.length + [...headers.values()].reduce((bytes, header) => bytes + header.length, 0);
}

/** A driver whose broker takes requests of this size, with what it has taken. */
function limitedProducer(limitBytes: number, taken: OutgoingRecord[]): KafkaProducer {
  const findBy = (_property: string, value: unknown): Error | null =>
    value === 'MESSAGE_TOO_LARGE' ? new Error('too large') : null;
  const send = async ({ messages }: Parameters<KafkaProducer['send']>[0]): Promise<void> => {
    if (messages.reduce((bytes, record) => bytes + sizeOf(record), 0) > limitBytes)
      throw Object.assign(new Error('refused'), { findBy });
    taken.push(...messages);
  };
  const close = (): Promise<void> => Promise.resolve();
  return Object.assign(new EventEmitter(), { send, close }) as unknown as KafkaProducer;
}

test.each(['component', 'broker'])(
  'a dead letter that is too large for the %s with its origin is published without it',
  async (whom) => {
    const message = textMessage('t', 'a', { data: Buffer.alloc(1_000) });
    const { record, bytes } = outgoing(message);
    const taken: OutgoingRecord[] = [];
    const producer = limitedProducer(whom === 'broker' ? sizeOf(record) : 10_000, taken);
    const publisher = new KafkaPublisher({
      ...{ name: 'Kafka', makeProducer: () => producer, random: Math.random },
      outages: new OutageLog(new RecordingLogger(), 'Kafka'),
      recordOf: outgoing,
      maxMessageBytes: whom === 'broker' ? 10_000 : bytes,
    });
    const letters = [{ ...message, deadLetter: ORIGIN }, textMessage('t', 'b', { deadLetter: ORIGIN })];
    expect(await publisher.publish(letters, { isOver: false })).toEqual([]);
    expect(taken.map(({ headers }) => [...headers.values()].join().includes('orders'))).toEqual([false, true]);
    await publisher.close();
  },
);
