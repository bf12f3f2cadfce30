import { EventEmitter } from 'node:events';
import type { KafkaConsumer, RecordsBatch } from '../../../src/components/kafka/driver.ts';
import { KafkaLine } from '../../../src/components/kafka/kafka-line.ts';
import { OutageLog } from '../../../src/components/outage-log.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { pause } from '../../support/broker-world.ts';
import { RecordingLogger } from '../../support/logger.ts';

const TOPIC = 't';

/** A group of one member, and a topic with one message in each partition: as much of the driver as a line needs. */
export class FakeGroup {
  generation = 1;
  partitions: readonly number[] = [0];
  joins = 0;
  leaves = 0;
  /** How many partitions of the topic the first client that reads knows, and how many all others. */
  known: readonly [first: number, others: number] = [2, 2];
  /** Called when the places of partitions are asked for. */
  placesAsked: () => Promise<void> = () => Promise.resolve();
  /** The partitions of what was delivered. */
  readonly delivered: number[] = [];
  /** How often messages were taken back. */
  detached = 0;
  #member: EventEmitter | undefined;
  #readers = 0;

  open(): Promise<KafkaLine> {
    const logger = new RecordingLogger();
    const deps = {
      makeConsumer: (options: object) => this.#consumer('sessionTimeout' in options),
      times: { sessionTimeoutMs: 10_000, heartbeatIntervalMs: 1_000 },
      initialOffset: 'oldest' as const,
      reading: { escapeHeaders: false, excludeHeaders: undefined },
      outages: new OutageLog(logger, 'Kafka'),
      random: () => 0,
    };
    const options = { topic: TOPIC, group: 'app', ordered: false, metadata: {}, clock: systemClock, logger };
    return KafkaLine.open(deps, options, {
      ...{ room: 10, window: 10, unsettled: 0 },
      deliver: (received) => this.delivered.push(...received.map(({ handle }) => handle.partition.partition)),
      detach: () => this.detached++,
    });
  }

  /** The member hears of the group: by default, that it has divided its partitions. */
  tell(event = 'consumer:group:join', payload?: object): void {
    this.#member?.emit(event, payload);
  }

  #consumer(isMember: boolean): KafkaConsumer {
    const nothing = (): Promise<void> => Promise.resolve();
    const count = this.known[isMember || this.#readers++ > 0 ? 1 : 0];
    const partitions = Array.from({ length: count }, () => ({ leader: 1 }));
    const consumer = Object.assign(new EventEmitter(), {
      memberId: 'member',
      topics: { track: () => true },
      metadata: async () => ({ topics: new Map([[TOPIC, { id: 'id', partitions }]]) }),
      joinGroup: async () => {
        this.joins++;
        this.tell();
      },
      leaveGroup: async () => {
        this.leaves++;
      },
      listCommittedOffsets: async () => {
        await this.placesAsked();
        return new Map([[TOPIC, [0n, 0n]]]);
      },
      fetch: answerTo,
      ...{ commit: nothing, close: nothing, clearMetadata: () => undefined },
    });
    Object.defineProperties(consumer, {
      generationId: { get: () => this.generation },
      assignments: { get: () => [{ topic: TOPIC, partitions: this.partitions }] },
    });
    if (isMember) this.#member = consumer;
    return consumer as unknown as KafkaConsumer;
  }
}

async function answerTo({ topics }: Parameters<KafkaConsumer['fetch']>[0]): ReturnType<KafkaConsumer['fetch']> {
  const asked = topics[0]?.partitions ?? [];
  if (asked.every(({ fetchOffset }) => fetchOffset > 0n)) await pause(20);
  const record = { offsetDelta: 0, timestampDelta: 0n, key: null, value: Buffer.from('x'), headers: [] };
  const batch: RecordsBatch = {
    ...{ firstOffset: 0n, lastOffsetDelta: 0, firstTimestamp: 0n, attributes: 0 },
    records: [record],
  };
  return {
    responses: [{ partitions: asked.map(({ partition }) => ({ partitionIndex: partition, records: [batch] })) }],
  };
}
