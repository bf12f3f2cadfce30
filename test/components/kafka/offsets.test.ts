import { describe, expect, test } from 'vitest';
import { type CommitPlace, Commits } from '../../../src/components/kafka/commits.ts';
import { topicProblem } from '../../../src/components/kafka/names.ts';
import { MAX_OPEN, PartitionOffsets } from '../../../src/components/kafka/partition-offsets.ts';
import { assignRanges, partitionOf } from '../../../src/components/kafka/partitioning.ts';

/** A partition of which the messages with these offsets are here. */
function taken(...offsets: readonly number[]): PartitionOffsets {
  const partition = new PartitionOffsets(0, offsets[0] ?? 0);
  for (const offset of offsets) partition.take(offset);
  partition.next = (offsets.at(-1) ?? 0) + 1;
  return partition;
}

describe('the place of a partition', () => {
  test('is before the first message that is not settled, in whatever order others are', () => {
    const partition = taken(5, 6, 7, 8);
    partition.settle(7);
    partition.settle(6);
    expect([partition.committable, partition.isSettledUpTo(6)]).toEqual([5, false]);
    partition.settle(5);
    expect([partition.committable, partition.isSettledUpTo(7), partition.isSettledUpTo(8)]).toEqual([8, true, false]);
    partition.settle(8);
    expect(partition.committable).toBe(9);
  });

  test('goes over offsets that are no messages', () => {
    const partition = taken(5, 9);
    partition.next = 12;
    partition.settle(5);
    expect(partition.committable).toBe(9);
    partition.settle(9);
    expect(partition.committable).toBe(12);
  });

  test('lets a limited number of messages come after it', () => {
    const partition = taken(...Array.from({ length: MAX_OPEN }, (_, offset) => offset));
    expect(partition.isFull).toBe(true);
    partition.settle(MAX_OPEN - 1);
    expect(partition.isFull).toBe(true);
    partition.settle(0);
    expect(partition.isFull).toBe(false);
  });
});

describe('commits', () => {
  /** Commits whose requests end when the test says so. */
  function commits() {
    const requests: { readonly offsets: readonly number[]; end: (error?: Error) => void }[] = [];
    const commit = (places: readonly CommitPlace[]): Promise<void> =>
      new Promise((resolve, reject) => {
        const end = (error?: Error): void => (error === undefined ? resolve() : reject(error));
        requests.push({ offsets: places.map(({ offset }) => offset), end });
      });
    return { requests, made: new Commits(commit, () => 1) };
  }
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  test('one request is under way; what is settled meanwhile is in the next one', async () => {
    const { requests, made } = commits();
    const partition = taken(0, 1, 2, 3);
    const first = made.settle(partition, 0);
    await turn();
    const others = [made.settle(partition, 1), made.settle(partition, 2)];
    await turn();
    expect(requests.map(({ offsets }) => offsets)).toEqual([[1]]);
    requests[0]?.end();
    await first;
    await turn();
    expect(requests.map(({ offsets }) => offsets)).toEqual([[1], [3]]);
    requests[1]?.end();
    await Promise.all(others);
    expect(partition.committed).toBe(3);
  });

  test('a message behind one that is not settled does not wait', async () => {
    const { requests, made } = commits();
    await made.settle(taken(0, 1), 1);
    await turn();
    expect(requests).toEqual([]);
  });

  test('a request that fails is repeated', async () => {
    const { requests, made } = commits();
    const settled = made.settle(taken(0), 0);
    await turn();
    requests[0]?.end(new Error('no connection'));
    await expect.poll(() => requests.length).toBe(2);
    requests[1]?.end();
    await settled;
  });

  test('what belongs to a lost partition is refused, before and after its request', async () => {
    const { requests, made } = commits();
    const [lost, kept] = [taken(0, 1), taken(7)];
    const under = made.settle(lost, 0);
    await turn();
    lost.isLost = true;
    requests[0]?.end();
    await expect(under).rejects.toThrow('another process may have the partition now');
    await expect(made.settle(lost, 1)).rejects.toThrow('another process');
    const settled = made.settle(kept, 7);
    await turn();
    expect(requests.map(({ offsets }) => offsets)).toEqual([[1], [8]]);
    requests[1]?.end();
    await settled;
  });

  test('what waits for a request when its partition is lost is refused at once', async () => {
    const { requests, made } = commits();
    const [other, lost] = [taken(0), taken(3)];
    const first = made.settle(other, 0);
    await turn();
    const waiting = made.settle(lost, 3);
    lost.isLost = true;
    made.forgetLost();
    await expect(waiting).rejects.toThrow('another process');
    requests[0]?.end();
    await first;
    await turn();
    expect(requests).toHaveLength(1);
  });
});

describe('partitions', () => {
  test.each([
    ['a', 0xe40c292c],
    ['foobar', 0xbf9cf968],
    ['', 0x811c9dc5],
  ])('the key %j has the hash of FNV-1a, without its sign', (key, hash) => {
    expect(partitionOf(Buffer.from(key))).toBe(Math.abs(hash | 0));
  });

  test('are divided in ranges among the members that consume the topic', () => {
    const members = new Map([
      ['c', { topics: ['x'] }],
      ['a', { topics: ['x', 'y'] }],
      ['b', { topics: ['y'] }],
    ]);
    const topics = new Map([
      ['x', { partitionsCount: 5 }],
      ['y', { partitionsCount: 1 }],
      ['z', { partitionsCount: 2 }],
    ]);
    const shares = assignRanges('a', members, new Set(['x']), { topics });
    const listed = shares.map(({ memberId, assignments }) => [
      memberId,
      [...assignments.values()].map(({ topic, partitions }) => `${topic} ${partitions.join()}`),
    ]);
    expect(listed).toEqual([
      ['a', ['x 0,1,2', 'y 0']],
      ['b', []],
      ['c', ['x 3,4']],
    ]);
  });

  test.each([['orders'], ['a.b_c-D9'], ['x'.repeat(249)]])('%s is a topic', (topic) => {
    expect(topicProblem(topic)).toBeUndefined();
  });

  test.each([[''], ['.'], ['..'], ['a/b'], ['grüße'], ['x'.repeat(250)], ['a b']])('%s is none', (topic) => {
    expect(topicProblem(topic)).toContain('Kafka has no topic');
  });
});
