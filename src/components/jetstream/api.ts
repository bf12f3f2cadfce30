import { parseJson } from '../broker/message-header.ts';
import type { NatsSession } from './session.ts';

const CALL_LIMIT_MS = 5_000;
const NO_RESPONDERS = 503;

/** The `err_code` of errors that are handled. */
export const ERROR_CODES = {
  /** The cluster has no leader at the moment. */
  unavailable: 10_008,
  notLeader: 10_009,
  consumerNotFound: 10_014,
  /** For the stream. */
  messageTooLarge: 10_054,
  streamNameInUse: 10_058,
  streamNotFound: 10_059,
  subjectsOverlap: 10_065,
} as const;

/** JetStream has refused a request. */
export class JetStreamError extends Error {
  /** Its `err_code`. */
  readonly errorCode: number;

  constructor(message: string, errorCode: number) {
    super(message);
    this.name = 'JetStreamError';
    this.errorCode = errorCode;
  }
}

/** Whether JetStream has refused a request with this code. */
export function isJetStreamError(error: unknown, errorCode: number): boolean {
  return error instanceof JetStreamError && error.errorCode === errorCode;
}

/** The used part of a consumer's configuration; more members may be there. */
export interface ConsumerConfig {
  readonly deliver_subject?: string;
  readonly filter_subject?: string;
  readonly ack_policy?: string;
  readonly ack_wait?: number;
  readonly max_ack_pending?: number;
}

/** The used part of JetStream's description of a consumer. */
export interface ConsumerInfo {
  readonly config: ConsumerConfig;
  readonly ack_floor: { readonly stream_seq: number };
}

/** The fields that every reply may have. */
export interface ApiReply {
  readonly error?: { readonly code?: number; readonly err_code?: number; readonly description?: string };
}

/** JetStream's requests, as JSON. */
export class JetStreamApi {
  readonly #prefix: string;
  readonly #server: string;

  /** @param prefix - such as `$JS.API` */
  constructor(prefix: string, server: string) {
    this.#prefix = prefix;
    this.#server = server;
  }

  /** The subject of a request. */
  subject(action: string): string {
    return `${this.#prefix}.${action}`;
  }

  async #call<Reply>(session: NatsSession, action: string, body: object | string = ''): Promise<Reply> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const message = await session.request(this.subject(action), text, CALL_LIMIT_MS);
    if (message.headers?.code === NO_RESPONDERS)
      throw new Error(
        `${this.#server} has no JetStream: nobody responds at ${this.#prefix} ("nats-server -js" enables it)`,
      );
    const reply = (parseJson(Buffer.from(message.data).toString()) ?? {}) as Reply & ApiReply;
    const problem = errorIn(reply, this.#server);
    if (problem !== undefined) throw problem;
    return reply;
  }

  /** The streams that store a subject: at most one, unless it has wildcards. */
  async streamsOf(session: NatsSession, subject: string): Promise<readonly string[]> {
    const reply = await this.#call<{ readonly streams?: readonly string[] | null }>(session, 'STREAM.NAMES', {
      subject,
    });
    return reply.streams ?? [];
  }

  async createStream(session: NatsSession, config: { readonly name: string }): Promise<void> {
    await this.#call(session, `STREAM.CREATE.${config.name}`, config);
  }

  async consumer(session: NatsSession, stream: string, name: string): Promise<ConsumerInfo | undefined> {
    try {
      return await this.#call<ConsumerInfo>(session, `CONSUMER.INFO.${stream}.${name}`);
    } catch (error) {
      if (isJetStreamError(error, ERROR_CODES.consumerNotFound)) return undefined;
      throw error;
    }
  }

  /** Creates a durable consumer, or changes it. */
  async setConsumer(session: NatsSession, stream: string, name: string, config: object): Promise<void> {
    await this.#call(session, `CONSUMER.DURABLE.CREATE.${stream}.${name}`, {
      stream_name: stream,
      config: { ...config, durable_name: name },
    });
  }
}

/** The error in a reply of JetStream, if there is one. */
export function errorIn({ error }: ApiReply, server: string): JetStreamError | undefined {
  if (error === undefined) return undefined;
  const { description = 'unknown error', err_code: errorCode = 0 } = error;
  return new JetStreamError(`${server} reports: ${description} (JetStream error ${errorCode})`, errorCode);
}
