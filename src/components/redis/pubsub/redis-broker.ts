import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../../errors.ts';
import { clearInterval, setInterval } from '../../../util/timers.ts';
import type { BrokerClient } from '../../broker/broker-pubsub.ts';
import type { Deadline } from '../../broker/deadlines.ts';
import type { LineOptions, LineReceiver } from '../../broker/line.ts';
import type { ComponentContext } from '../../component.ts';
import { OutageLog } from '../../outage-log.ts';
import type { Message, PublishFailure } from '../../pubsub.ts';
import { ConnectionLostError } from '../../remote/connection.ts';
import { Dialer } from '../dialer.ts';
import type { RedisArgument, RedisModule } from '../driver.ts';
import type { RedisTarget } from '../target.ts';
import { targetName } from '../target.ts';
import { fieldsOf } from './entries.ts';
import { GroupReader } from './group-reader.ts';
import { KeyRouter } from './key-router.ts';
import { CONSUMER_PREFIX, StreamGroup } from './stream-group.ts';
import { StreamLine, type StreamSettings } from './stream-line.ts';
import { trimAcknowledged } from './trimming.ts';

const NONE: readonly PublishFailure[] = [];
const TICK_MS = 1_000;
/** The rest of the ticks between two trimmings. */
const TRIM_TICKS = 10;
/** Before a publish is tried again that the server did not confirm. */
const RETRY_MS = 50;

/** Settings of a {@link RedisBroker}. */
export interface RedisBrokerSettings extends StreamSettings {
  readonly target: RedisTarget;
  readonly load: () => Promise<RedisModule>;
  readonly callTimeoutMs: number;
  /** In place of the app ID. */
  readonly consumerId: string | undefined;
  readonly maxLenApprox: number | undefined;
  readonly streamTtlMs: number | undefined;
  readonly trimAcknowledged: boolean;
}

/** Sources of IDs and random numbers. */
export interface Chance {
  readonly newId: () => string;
  /** A number from 0 to 1. */
  readonly random: () => number;
}

/** A reader, and by how many lines it is used. */
interface SharedReader {
  readonly reader: GroupReader;
  users: number;
}

/** A sidecar's access to Redis Streams. */
export class RedisBroker implements BrokerClient<string> {
  readonly #settings: RedisBrokerSettings;
  readonly #context: ComponentContext;
  readonly #outages: OutageLog;
  readonly #random: () => number;
  readonly #router: KeyRouter;
  readonly #consumer: string;
  /** By slot and group. */
  readonly #readers = new Map<string, SharedReader>();
  readonly #lines = new Set<StreamLine>();
  readonly #timer: NodeJS.Timeout;
  #ticks = 0;
  #isClosed = false;

  constructor(settings: RedisBrokerSettings, context: ComponentContext, { newId, random }: Chance) {
    const { target, load, callTimeoutMs: timeoutMs } = settings;
    this.#settings = settings;
    this.#context = context;
    this.#random = random;
    this.#consumer = `${CONSUMER_PREFIX}${newId()}`;
    this.#outages = new OutageLog(context.logger, targetName(target));
    this.#router = new KeyRouter({
      target,
      dialer: new Dialer({ target, load, protocol: 2 }),
      timeoutMs,
      logger: context.logger,
      outages: this.#outages,
      random,
      onConnected: () => {
        for (const line of this.#lines) line.reconnected();
      },
    });
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  get name(): string {
    return this.#router.name;
  }

  get failure(): string | undefined {
    return this.#router.failure;
  }

  async publish(messages: readonly Message[], deadline: Deadline): Promise<readonly PublishFailure[]> {
    const [first] = messages;
    if (messages.length === 1 && first !== undefined) return this.#add(first, 0, deadline);
    const failures = await Promise.all(messages.map((message, index) => this.#add(message, index, deadline)));
    return failures.flat();
  }

  #add(message: Message, index: number, deadline: Deadline): Promise<readonly PublishFailure[]> {
    const slot = this.#router.slot(message.topic);
    const command = this.#command(message);
    return this.#router.send(slot, command).then(
      () => NONE,
      (error: Error) =>
        this.#addAgain(slot, command, error, deadline).then(
          () => NONE,
          (cause: Error) => [{ index, error: cause }],
        ),
    );
  }

  /** Until the server has it or refuses it: a message whose confirmation was lost may be stored twice, never not at all. */
  async #addAgain(slot: number, command: readonly RedisArgument[], first: Error, deadline: Deadline): Promise<void> {
    let error = first;
    while (error instanceof ConnectionLostError && !deadline.isOver) {
      try {
        await this.#router.ready(slot);
        if (deadline.isOver) break;
        await this.#router.send(slot, command);
        return;
      } catch (cause) {
        error = cause as Error;
      }
      if (error instanceof ConnectionLostError) await pause(RETRY_MS);
    }
    throw error;
  }

  #command(message: Message): readonly RedisArgument[] {
    const { maxLenApprox, streamTtlMs } = this.#settings;
    const limit =
      maxLenApprox !== undefined
        ? ['MAXLEN', '~', String(maxLenApprox)]
        : streamTtlMs !== undefined
          ? ['MINID', '~', String(Date.now() - streamTtlMs)]
          : [];
    return ['XADD', message.topic, ...limit, '*', ...fieldsOf(message)];
  }

  async openLine(options: LineOptions, receiver: LineReceiver<string>): Promise<StreamLine> {
    const { topic, logger } = options;
    const group = this.#groupName(options.group);
    const router = this.#router;
    await router.reachable(router.slot(topic));
    if (this.#isClosed) throw new Error('the component is closed');
    const stream = new StreamGroup({ router, topic, group, consumer: this.#consumer });
    const shared = this.#reader(stream);
    const line = new StreamLine({
      ...this.#settings,
      stream,
      receiver,
      logger,
      reader: shared.reader,
      restartedAt: () => router.restartedAt,
      onClose: (closed) => {
        this.#lines.delete(closed);
        this.#leave(stream, shared);
      },
    });
    try {
      await line.start();
    } catch (error) {
      this.#leave(stream, shared);
      throw error;
    }
    this.#lines.add(line);
    return line;
  }

  /** The app ID, or what stands for it, and the name of the group if it has one. */
  #groupName(group: string): string {
    const { appId } = this.#context;
    const { consumerId } = this.#settings;
    if (consumerId === undefined || (group !== appId && !group.startsWith(`${appId}/`))) return group;
    return `${consumerId}${group.slice(appId.length)}`;
  }

  #reader(stream: StreamGroup): SharedReader {
    const key = readerKey(stream);
    const shared = this.#readers.get(key) ?? { reader: this.#newReader(stream), users: 0 };
    shared.users++;
    this.#readers.set(key, shared);
    return shared;
  }

  #newReader({ slot, group }: StreamGroup): GroupReader {
    const [router, consumer] = [this.#router, this.#consumer];
    const { callTimeoutMs: timeoutMs } = this.#settings;
    const [outages, random] = [this.#outages, this.#random];
    return new GroupReader({ router, group, consumer, slot, server: this.name, timeoutMs, outages, random });
  }

  /** A reader without users has no connection. */
  #leave(stream: StreamGroup, shared: SharedReader): void {
    if (--shared.users > 0) return;
    shared.reader.close();
    this.#readers.delete(readerKey(stream));
  }

  #tick(): void {
    for (const line of this.#lines) line.tick();
    if (!this.#settings.trimAcknowledged || ++this.#ticks % TRIM_TICKS !== 0) return;
    for (const topic of new Set([...this.#lines].map((line) => line.topic))) void this.#trim(topic);
  }

  async #trim(topic: string): Promise<void> {
    try {
      await trimAcknowledged(this.#router, topic);
    } catch (error) {
      this.#context.logger.warn({ topic, error: messageOf(error) }, 'the stream cannot be trimmed');
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const { reader } of this.#readers.values()) reader.close();
    await this.#router.close();
  }
}

/** One reader for all topics of a group that may stand in one command. */
function readerKey({ slot, group }: StreamGroup): string {
  return `${slot}/${group}`;
}
