import type { BrokerClient } from '../broker/broker-pubsub.ts';
import type { Deadline } from '../broker/deadlines.ts';
import type { LineOptions, LineReceiver } from '../broker/line.ts';
import type { ComponentContext } from '../component.ts';
import { OutageLog } from '../outage-log.ts';
import type { Message, PublishFailure } from '../pubsub.ts';
import type { KafkaModule, KafkaProducer } from './driver.ts';
import type { GroupTimes } from './group-membership.ts';
import { KafkaLine } from './kafka-line.ts';
import { KafkaPublisher } from './kafka-publisher.ts';
import { idOf, topicProblem } from './names.ts';
import { partitionOf } from './partitioning.ts';
import { type KafkaHandle, outgoing, type RecordReading, type SizedRecord } from './records.ts';

const CONNECT_LIMIT_MS = 5_000;

/** How clients are made. */
export interface KafkaSettings {
  /** `host:port` of each. */
  readonly brokers: readonly string[];
  readonly clientId: string | undefined;
  readonly consumerId: string | undefined;
  /** In the terms of the driver. */
  readonly sasl: object | undefined;
  /** Options of `tls.connect`. */
  readonly tls: object | undefined;
  readonly compression: string | undefined;
  readonly maxMessageBytes: number;
  readonly publishTimeoutMs: number;
  readonly initialOffset: 'newest' | 'oldest';
  readonly times: GroupTimes;
  readonly reading: RecordReading;
}

export interface KafkaClientDeps {
  readonly kafka: KafkaModule;
  readonly settings: KafkaSettings;
  readonly context: ComponentContext;
  /** Makes the record of a message. Default: with all that a message of pub/sub has. */
  readonly recordOf?: (message: Message) => SizedRecord;
}

/** A sidecar's access to Kafka. */
export class KafkaClient implements BrokerClient<KafkaHandle> {
  readonly name: string;
  readonly #deps: KafkaClientDeps;
  readonly #publisher: KafkaPublisher;
  readonly #outages: OutageLog;
  #turn = 0;

  constructor(deps: KafkaClientDeps) {
    this.#deps = deps;
    const { brokers, maxMessageBytes } = deps.settings;
    this.name = `Kafka at ${brokers.join(', ')}`;
    const makeProducer = (): KafkaProducer => this.#makeProducer();
    this.#outages = new OutageLog(deps.context.logger, this.name);
    const outages = this.#outages;
    this.#publisher = new KafkaPublisher({
      name: this.name,
      makeProducer,
      maxMessageBytes,
      recordOf: deps.recordOf ?? outgoing,
      outages,
      random: Math.random,
    });
  }

  get failure(): string | undefined {
    return this.#publisher.failure;
  }

  get #common(): object {
    const { settings, context } = this.#deps;
    const { brokers, clientId = context.appId, sasl, tls } = settings;
    return {
      clientId: idOf(clientId),
      bootstrapBrokers: brokers,
      connectTimeout: CONNECT_LIMIT_MS,
      // Repetitions are decided here.
      retries: 0,
      ...(sasl === undefined ? undefined : { sasl }),
      ...(tls === undefined ? undefined : { tls }),
    };
  }

  #makeProducer(): KafkaProducer {
    const { kafka, settings } = this.#deps;
    const { publishTimeoutMs, compression } = settings;
    return new kafka.Producer({
      ...this.#common,
      timeout: publishTimeoutMs,
      requestTimeout: publishTimeoutMs,
      partitioner: (_record: unknown, key: Buffer | undefined) => (key === undefined ? this.#turn++ : partitionOf(key)),
      ...(compression === undefined ? undefined : { compression }),
    });
  }

  publish(messages: readonly Message[], deadline: Deadline): Promise<readonly PublishFailure[]> {
    return this.#publisher.publish(messages, deadline);
  }

  openLine(options: LineOptions, receiver: LineReceiver<KafkaHandle>): Promise<KafkaLine> {
    const problem = topicProblem(options.topic);
    if (problem !== undefined) return Promise.reject(new Error(problem));
    const { kafka, settings } = this.#deps;
    const { times, initialOffset, reading } = settings;
    const groupId = idOf(this.#groupOf(options.group));
    const makeConsumer = (own: object) => new kafka.Consumer({ ...this.#common, groupId, ...own });
    const outages = this.#outages;
    const deps = { makeConsumer, times, initialOffset, reading, outages, random: Math.random };
    return KafkaLine.open(deps, options, receiver);
  }

  /** The group's name at the broker: `consumerId` stands for the app ID. */
  #groupOf(group: string): string {
    const { settings, context } = this.#deps;
    const { appId } = context;
    if (settings.consumerId === undefined || (group !== appId && !group.startsWith(`${appId}/`))) return group;
    return settings.consumerId + group.slice(appId.length);
  }

  close(): Promise<void> {
    return this.#publisher.close();
  }
}
