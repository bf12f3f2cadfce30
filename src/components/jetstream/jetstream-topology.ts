import { msOf } from '../../util/duration.ts';
import type { Logger } from '../../util/logger.ts';
import { type ConsumerInfo, ERROR_CODES, isJetStreamError, type JetStreamApi } from './api.ts';
import { consumerNameOf, filterOf, isWildcard, streamNameOf, subjectOf } from './names.ts';
import type { NatsSession } from './session.ts';
import { type JetStreamDeliverPolicy, type JetStreamSettings, NANOSECONDS } from './settings.ts';

/** A durable consumer. */
export interface OpenConsumer {
  readonly stream: string;
  readonly name: string;
  readonly wasCreated: boolean;
}

/** The group whose messages of a topic are consumed, and how. */
export interface ConsumerWish {
  readonly topic: string;
  readonly group: string;
  readonly ordered: boolean;
  /** Begin at this instant, whatever the policy says: the consumer was there then. */
  readonly since?: Date | undefined;
}

/** The dependencies of a {@link JetStreamTopology}. */
export interface TopologyDeps {
  readonly api: JetStreamApi;
  readonly settings: JetStreamSettings;
  /** For messages. */
  readonly server: string;
  readonly logger: Logger;
}

/** The streams and consumers of topics and groups. */
export class JetStreamTopology {
  readonly #deps: TopologyDeps;
  /** Streams that are being looked for, by topic. */
  readonly #searches = new Map<string, Promise<string>>();

  constructor(deps: TopologyDeps) {
    this.#deps = deps;
  }

  /** The stream that stores a topic's subject. Creates it if the settings say so; rejects if there is none. */
  streamOf(session: NatsSession, topic: string): Promise<string> {
    const running = this.#searches.get(topic);
    if (running !== undefined) return running;
    const search = this.#findStream(session, topic).finally(() => this.#searches.delete(topic));
    this.#searches.set(topic, search);
    return search;
  }

  async #findStream(session: NatsSession, topic: string): Promise<string> {
    const { api, server, settings } = this.#deps;
    const subject = subjectOf(topic);
    const [found] = await api.streamsOf(session, subject);
    if (found !== undefined) return found;
    if (settings.createStream !== undefined) return this.#createStream(session, topic);
    throw new Error(
      `no stream of ${server} has the subject ${JSON.stringify(subject)}: add a stream for it, or let the component create one (option createStream)`,
    );
  }

  /** The only stream with subjects that a topic with wildcards matches: a consumer has one stream. */
  async #streamOfAll(session: NatsSession, topic: string): Promise<string> {
    const { api, server } = this.#deps;
    const filter = JSON.stringify(filterOf(topic));
    const [found, other] = await api.streamsOf(session, filterOf(topic));
    if (found === undefined)
      throw new Error(
        `no stream of ${server} has a subject that ${filter} matches: wildcards need a stream that exists`,
      );
    if (other !== undefined)
      throw new Error(`several streams of ${server} have subjects that ${filter} matches: name one (option stream)`);
    return found;
  }

  async #createStream(session: NatsSession, topic: string): Promise<string> {
    const { api, settings, logger } = this.#deps;
    const { maxAge = 0, maxBytes = -1, replicas = 1 } = settings.createStream ?? {};
    const [name, subject] = [streamNameOf(topic), subjectOf(topic)];
    const config = {
      name,
      subjects: [subject],
      retention: 'limits',
      storage: 'file',
      // A full stream refuses messages: those that it has may not be consumed yet.
      discard: 'new',
      max_age: msOf(maxAge) * NANOSECONDS,
      max_bytes: maxBytes,
      num_replicas: replicas,
    };
    try {
      await api.createStream(session, config);
      logger.info({ topic, stream: name }, 'a stream was created');
      return name;
    } catch (error) {
      // Another process was faster, perhaps with other settings.
      const { streamNameInUse, subjectsOverlap } = ERROR_CODES;
      if (!isJetStreamError(error, streamNameInUse) && !isJetStreamError(error, subjectsOverlap)) throw error;
      const [found] = await api.streamsOf(session, subject);
      if (found === undefined) throw error;
      return found;
    }
  }

  /** The durable consumer of a group, created or changed as the settings say. */
  async openConsumer(session: NatsSession, wish: ConsumerWish): Promise<OpenConsumer> {
    const { api, settings } = this.#deps;
    const { topic, group, ordered } = wish;
    const find = (): Promise<string> =>
      isWildcard(topic) ? this.#streamOfAll(session, topic) : this.streamOf(session, topic);
    const stream = settings.stream ?? (await find());
    const name = consumerNameOf(group, topic);
    const wanted = {
      ack_wait: settings.ackWaitMs * NANOSECONDS,
      max_ack_pending: ordered ? 1 : settings.maxAckPending,
    };
    const there = await api.consumer(session, stream, name);
    if (there === undefined) {
      const start = await this.#startOf(session, stream, wish);
      await api.setConsumer(session, stream, name, { ...this.#newConsumer(topic), ...wanted, ...start });
      return { stream, name, wasCreated: true };
    }
    this.#check(there, name, filterOf(topic));
    const { config } = there;
    if (config.ack_wait !== wanted.ack_wait || config.max_ack_pending !== wanted.max_ack_pending)
      await api.setConsumer(session, stream, name, { ...config, ...wanted });
    return { stream, name, wasCreated: false };
  }

  #newConsumer(topic: string): object {
    const { replicas, memoryStorage } = this.#deps.settings;
    return {
      filter_subject: filterOf(topic),
      ack_policy: 'explicit',
      ...(replicas === undefined ? {} : { num_replicas: replicas }),
      ...(memoryStorage ? { mem_storage: true } : {}),
    };
  }

  #check({ config }: ConsumerInfo, name: string, subject: string): void {
    const fits =
      config.deliver_subject === undefined && config.ack_policy === 'explicit' && config.filter_subject === subject;
    if (!fits)
      throw new Error(
        `the consumer ${JSON.stringify(name)} at ${this.#deps.server} is not a pull consumer with explicit acknowledgements and the filter ${JSON.stringify(subject)}: delete it, and it is created anew`,
      );
  }

  async #startOf(session: NatsSession, stream: string, { topic, since }: ConsumerWish): Promise<object> {
    const { deliverPolicy, continueDurable } = this.#deps.settings;
    if (since !== undefined && deliverPolicy !== 'all') return startOf({ startTime: since });
    const floor = continueDurable === undefined ? undefined : await this.#floorOf(session, stream, topic);
    return startOf(floor === undefined ? deliverPolicy : { startSequence: floor + 1 });
  }

  /** The last message up to which another durable consumer has acknowledged all. */
  async #floorOf(session: NatsSession, stream: string, topic: string): Promise<number | undefined> {
    const { api, settings, logger } = this.#deps;
    const durable = settings.continueDurable ?? '';
    const consumer = await api.consumer(session, stream, durable);
    const { filter_subject: filter = '' } = consumer?.config ?? {};
    if (consumer !== undefined && (filter === '' || filter === filterOf(topic))) return consumer.ack_floor.stream_seq;
    const why = consumer === undefined ? 'there is no such consumer' : `it has the subject ${filter}`;
    logger.warn({ topic, stream, durable }, `the group does not continue where a durable consumer stands: ${why}`);
    return undefined;
  }
}

function startOf(policy: JetStreamDeliverPolicy): object {
  if (typeof policy === 'string') return { deliver_policy: policy };
  return 'startSequence' in policy
    ? { deliver_policy: 'by_start_sequence', opt_start_seq: Math.max(1, policy.startSequence) }
    : { deliver_policy: 'by_start_time', opt_start_time: policy.startTime.toISOString() };
}
