import type { RedisArgument } from '../driver.ts';
import type { RawEntry } from './entries.ts';
import type { KeyRouter } from './key-router.ts';

/** Our consumers' names begin with it. */
export const CONSUMER_PREFIX = 'insidecar-';
/** Holds the returned entries: any consumer with room takes them. */
export const RETURNED: string = `${CONSUMER_PREFIX}returned`;
/** The longest idle time that Redis takes: other programs, too, may claim such an entry at once. */
const LONGEST_IDLE = '2147483647';
/** No entry is behind it. Not the very last ID, which has no next one. */
const BEHIND_ALL = '18446744073709551615-0';
/** IDs in one command. */
const MAX_IDS = 1_000;

/** Removes a consumer with nothing pending. Otherwise its pending entries would be forgotten. */
const REMOVE_CONSUMER = `
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then return 0 end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return 1`;

/** A consumer of a group. */
export interface StreamConsumer {
  readonly name: string;
  readonly pending: number;
  /** Since its last command. */
  readonly idleMs: number;
}

/** An entry that was delivered and not acknowledged. */
export interface PendingEntry {
  readonly id: string;
  /** How often it was delivered. */
  readonly deliveries: number;
}

/** The dependencies of a {@link StreamGroup}. */
export interface StreamGroupDeps {
  readonly router: KeyRouter;
  readonly topic: string;
  readonly group: string;
  /** The name of our consumer. */
  readonly consumer: string;
}

/** The commands of one consumer of a group of a stream. */
export class StreamGroup {
  readonly topic: string;
  readonly group: string;
  readonly consumer: string;
  readonly slot: number;
  readonly #router: KeyRouter;

  constructor({ router, topic, group, consumer }: StreamGroupDeps) {
    this.topic = topic;
    this.group = group;
    this.consumer = consumer;
    this.slot = router.slot(topic);
    this.#router = router;
  }

  send(...args: readonly RedisArgument[]): Promise<unknown> {
    return this.#router.send(this.slot, args);
  }

  /** Creates the group and its stream if they do not exist. A new group gets all messages of the stream, as in Dapr. */
  async create(): Promise<void> {
    try {
      await this.send('XGROUP', 'CREATE', this.topic, this.group, '0', 'MKSTREAM');
    } catch (error) {
      if (!(error as Error).message.includes('BUSYGROUP')) throw error;
    }
  }

  /** New entries that are there. */
  async read(count: number): Promise<readonly RawEntry[]> {
    const { topic, group, consumer } = this;
    const args = ['XREADGROUP', 'GROUP', group, consumer, 'COUNT', String(count), 'STREAMS', topic, '>'];
    return entriesOf(await this.send(...args));
  }

  /** Lets the group see that the consumer lives. */
  async touch(): Promise<void> {
    const { topic, group, consumer } = this;
    await this.send('XREADGROUP', 'GROUP', group, consumer, 'COUNT', '1', 'STREAMS', topic, BEHIND_ALL);
  }

  async consumers(): Promise<readonly StreamConsumer[]> {
    const found = (await this.send('XINFO', 'CONSUMERS', this.topic, this.group)) as readonly (readonly unknown[])[];
    return found.map((fields) => ({
      name: String(fieldValue(fields, 'name')),
      pending: Number(fieldValue(fields, 'pending')),
      idleMs: Number(fieldValue(fields, 'idle')),
    }));
  }

  /** Pending entries of a consumer from an ID on, in order. */
  async pending(consumer: string, minIdleMs: number, count: number, from = '-'): Promise<readonly PendingEntry[]> {
    const range = ['IDLE', String(minIdleMs), from, '+', String(count), consumer];
    const found = (await this.send('XPENDING', this.topic, this.group, ...range)) as readonly (readonly unknown[])[];
    return found.map(([id, , , deliveries]) => ({ id: String(id), deliveries: Number(deliveries) }));
  }

  /** Takes over entries that are still idle, each for one of the callers only. Counts a delivery. */
  async claim(minIdleMs: number, ids: readonly string[]): Promise<readonly RawEntry[]> {
    const reply = await this.send('XCLAIM', this.topic, this.group, this.consumer, String(minIdleMs), ...ids);
    return (reply as readonly (RawEntry | null)[]).filter((entry) => entry !== null);
  }

  /** Entries by their IDs. Those that were deleted are missing. */
  async entries(ids: readonly string[]): Promise<readonly RawEntry[]> {
    const replies = await Promise.all(ids.map((id) => this.send('XRANGE', this.topic, id, id)));
    return (replies as readonly RawEntry[][]).flat();
  }

  /** Resets the idle time of our entries. */
  async renew(ids: readonly string[]): Promise<void> {
    await this.#claimFor(this.consumer, ids, []);
  }

  /** Records how often an entry of ours was delivered. */
  async record(id: string, deliveries: number): Promise<void> {
    await this.#claimFor(this.consumer, [id], ['RETRYCOUNT', String(deliveries)]);
  }

  /** Returns entries, to be delivered at once by anybody. */
  async giveBack(ids: readonly string[], deliveries: number): Promise<void> {
    await this.#claimFor(RETURNED, ids, ['IDLE', LONGEST_IDLE, 'RETRYCOUNT', String(deliveries)]);
  }

  async #claimFor(consumer: string, ids: readonly string[], options: readonly string[]): Promise<void> {
    const { topic, group } = this;
    await inParts(ids, (part) => this.send('XCLAIM', topic, group, consumer, '0', ...part, ...options, 'JUSTID'));
  }

  async acknowledge(ids: readonly string[]): Promise<void> {
    await inParts(ids, (part) => this.send('XACK', this.topic, this.group, ...part));
  }

  /** Removes a consumer, unless it has pending entries. */
  async removeConsumer(consumer: string): Promise<void> {
    await this.send('EVAL', REMOVE_CONSUMER, '1', this.topic, this.group, consumer);
  }
}

/** The value of a field in a flat list of names and values. */
export function fieldValue(fields: readonly unknown[], name: string): unknown {
  const at = fields.findIndex((field, index) => index % 2 === 0 && String(field) === name);
  return at < 0 ? undefined : fields[at + 1];
}

/** The entries of the only stream of a reply. */
function entriesOf(reply: unknown): readonly RawEntry[] {
  const [stream] = (reply ?? []) as readonly (readonly [Buffer, readonly RawEntry[]])[];
  return stream?.[1] ?? [];
}

async function inParts(ids: readonly string[], send: (part: readonly string[]) => Promise<unknown>): Promise<void> {
  if (ids.length <= MAX_IDS) {
    await send(ids);
    return;
  }
  const parts = Array.from({ length: Math.ceil(ids.length / MAX_IDS) }, (_, n) =>
    ids.slice(n * MAX_IDS, (n + 1) * MAX_IDS),
  );
  await Promise.all(parts.map(send));
}
