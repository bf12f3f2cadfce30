import { SHARD_COUNT, shardOf } from '../../cluster/shards.ts';
import { keyOf } from '../ordering-key.ts';
import type { Message } from '../pubsub.ts';

/** Into how many partitions the messages of a group are divided while several hosts hand them out. */
export const PARTITION_COUNT: number = SHARD_COUNT;

/** How many numbers one commit reserves. */
export const BLOCK = 1_000_000;

/**
 * The partition of a message: all messages of an ordering key are in one. Those without a key are in the partition of
 * their number.
 */
export function partitionOf({ number, message }: { readonly number: number; readonly message: Message }): number {
  const key = keyOf(message);
  return key === undefined ? partitionOfNumber(number) : shardOf(key);
}

/**
 * The partition of a number. Numbers that follow each other are in all partitions in turn. Each block of numbers begins
 * in another one: a host that publishes little uses only the first numbers of its blocks.
 */
export function partitionOfNumber(number: number): number {
  return (number + shardOf(String(Math.floor(number / BLOCK)))) % PARTITION_COUNT;
}

/** The most numbers that {@link numberFor} leaves out, and the one that it answers. */
export const NUMBERS_PER_MESSAGE: number = 2 * PARTITION_COUNT;

/**
 * The first number from `next` on in the partition of a message: from the number in a hint, hosts know whether the
 * message is one of theirs.
 */
export function numberFor(message: Message, next: number): number {
  const key = keyOf(message);
  if (key === undefined) return next;
  const partition = shardOf(key);
  const number = next + ((partition - partitionOfNumber(next) + PARTITION_COUNT) % PARTITION_COUNT);
  const end = next - (next % BLOCK) + BLOCK;
  return number < end ? number : numberFor(message, end);
}
