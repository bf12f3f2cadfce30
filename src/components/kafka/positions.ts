import type { KafkaConsumer } from './driver.ts';

export const NEWEST = -1n;
export const OLDEST = -2n;
/** The broker knows no place of the group. */
const NONE = -1;

/** The first or the next offset of each partition. */
export async function offsetsAt(
  consumer: KafkaConsumer,
  topic: string,
  partitions: readonly number[],
  timestamp: bigint,
): Promise<ReadonlyMap<number, number>> {
  if (partitions.length === 0) return new Map();
  const offsets = await consumer.listOffsets({ topics: [topic], partitions: { [topic]: partitions }, timestamp });
  return new Map(partitions.map((partition) => [partition, Number(offsets.get(topic)?.[partition] ?? 0n)]));
}

/**
 * Where a group goes on in each partition. A new group gets its place recorded at once: messages that come before its
 * first acknowledgement would be skipped after a restart otherwise.
 */
export async function positionsOf(
  consumer: KafkaConsumer,
  topic: string,
  partitions: readonly number[],
  initialOffset: 'newest' | 'oldest',
): Promise<ReadonlyMap<number, number>> {
  if (partitions.length === 0) return new Map();
  const known = (await consumer.listCommittedOffsets({ topics: [{ topic, partitions }] })).get(topic);
  const committed = new Map(partitions.map((partition) => [partition, Number(known?.[partition] ?? NONE)]));
  const unknown = partitions.filter((partition) => committed.get(partition) === NONE);
  const initial = await offsetsAt(consumer, topic, unknown, initialOffset === 'oldest' ? OLDEST : NEWEST);
  const offsets = [...initial].map(([partition, offset]) => ({
    ...{ topic, partition, leaderEpoch: -1 },
    offset: BigInt(offset),
  }));
  if (offsets.length > 0) await consumer.commit({ offsets });
  return new Map([...committed, ...initial]);
}
