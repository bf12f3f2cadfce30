import type { Logger } from '../../util/logger.ts';
import { clearTimeout, setTimeout } from '../../util/timers.ts';
import type { Deadline } from '../broker/deadlines.ts';
import { parseJson } from '../broker/message-header.ts';
import type { Message, PublishFailure } from '../pubsub.ts';
import { type ApiReply, ERROR_CODES, errorIn } from './api.ts';
import type { NatsMessage } from './driver.ts';
import type { JetStreamTopology } from './jetstream-topology.ts';
import { type EncodedHeaders, encodeHeaders, headersOf } from './messages.ts';
import { MAX_SUBJECT_BYTES, subjectOf } from './names.ts';
import type { NatsLink, NatsLinkUser } from './nats-link.ts';
import type { NatsSession } from './session.ts';

const NO_RESPONDERS = 503;
const RETRY_MS = 250;
/** A cluster elects a leader. */
const PASSING: ReadonlySet<number> = new Set([ERROR_CODES.unavailable, ERROR_CODES.notLeader]);

/** A message that is being published. */
interface OutgoingMessage {
  message: Message;
  readonly subject: string;
  headers: EncodedHeaders;
  readonly deadline: Deadline;
  /** How often it was sent. */
  sent: number;
  /** Where its latest acknowledgement is awaited. */
  reply: string | undefined;
  readonly settle: (error?: Error) => void;
}

interface PubAck {
  readonly seq?: number;
  readonly duplicate?: boolean;
}

/** The dependencies of a {@link JetStreamPublisher}. */
export interface JetStreamPublisherDeps {
  readonly link: NatsLink;
  readonly topology: JetStreamTopology;
  readonly logger: Logger;
}

/** Publishes messages and awaits the acknowledgements of all at the same time. */
export class JetStreamPublisher implements NatsLinkUser {
  readonly #deps: JetStreamPublisherDeps;
  /** In the order of the calls, which is that of their deadlines. */
  readonly #pending = new Set<OutgoingMessage>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(deps: JetStreamPublisherDeps) {
    this.#deps = deps;
    deps.link.join(this);
  }

  /** Resolves with the failures once every message is stored or refused. */
  publish(messages: readonly Message[], deadline: Deadline): Promise<readonly PublishFailure[]> {
    return new Promise((resolve) => {
      const failures: PublishFailure[] = [];
      let open = messages.length;
      if (open === 0) resolve(failures);
      for (const [index, message] of messages.entries())
        this.#add(message, deadline, (error) => {
          if (error !== undefined) failures.push({ index, error });
          if (--open === 0) resolve(failures.sort((a, b) => a.index - b.index));
        });
    });
  }

  #add(message: Message, deadline: Deadline, settle: OutgoingMessage['settle']): void {
    this.#forgetLate();
    const subject = subjectOf(message.topic);
    const headers = encodeHeaders(message, subject);
    const outgoing: OutgoingMessage = { message, subject, headers, deadline, settle, sent: 0, reply: undefined };
    this.#pending.add(outgoing);
    const { session } = this.#deps.link;
    if (session !== undefined) this.#send(outgoing, session);
  }

  /** Drops messages whose publish has timed out. */
  #forgetLate(): void {
    for (const outgoing of this.#pending) {
      if (!outgoing.deadline.isOver) return;
      this.#settle(outgoing);
    }
  }

  #settle(outgoing: OutgoingMessage, error?: Error): void {
    if (!this.#pending.delete(outgoing)) return;
    if (outgoing.reply !== undefined) this.#deps.link.session?.forget(outgoing.reply);
    outgoing.settle(error);
  }

  #send(outgoing: OutgoingMessage, session: NatsSession): void {
    if (outgoing.deadline.isOver) return this.#settle(outgoing);
    if (bytesOf(outgoing) > session.maxPayloadBytes) dropOrigin(outgoing);
    const problem = this.#problemOf(outgoing, session);
    if (problem !== undefined) return this.#settle(outgoing, problem);
    const { message, subject, headers } = outgoing;
    outgoing.sent++;
    outgoing.reply = session.send(subject, message.data, headers, (reply, error) => {
      if (reply !== undefined) this.#replied(outgoing, reply);
      else if (error !== undefined) this.#settle(outgoing, error);
    });
  }

  /** The reason why the server would end the connection, if it would. */
  #problemOf(outgoing: OutgoingMessage, { maxPayloadBytes }: NatsSession): Error | undefined {
    const { server } = this.#deps.link;
    const [bytes, subjectBytes] = [bytesOf(outgoing), Buffer.byteLength(outgoing.subject)];
    if (bytes > maxPayloadBytes)
      return new Error(
        `the message has ${bytes} bytes with its headers, and ${server} accepts ${maxPayloadBytes} (its max_payload)`,
      );
    if (subjectBytes > MAX_SUBJECT_BYTES)
      return new Error(`the subject of the topic has ${subjectBytes} bytes: expected at most ${MAX_SUBJECT_BYTES}`);
    return undefined;
  }

  #replied(outgoing: OutgoingMessage, reply: NatsMessage): void {
    if (reply.data.length === 0 && headersOf(reply)?.code === NO_RESPONDERS) return void this.#lookForStream(outgoing);
    const parsed = parseJson(Buffer.from(reply.data.buffer, reply.data.byteOffset, reply.data.length).toString());
    const { server, session } = this.#deps.link;
    if (typeof parsed !== 'object' || parsed === null || !('seq' in parsed || 'error' in parsed))
      return this.#settle(outgoing, new Error(`${server} does not store the message: something else replied`));
    const error = errorIn(parsed as ApiReply, server);
    if (error !== undefined && PASSING.has(error.errorCode)) return this.#sendLater(outgoing);
    if (error?.errorCode === ERROR_CODES.messageTooLarge && session !== undefined && dropOrigin(outgoing))
      return this.#send(outgoing, session);
    if ((parsed as PubAck).duplicate === true && outgoing.sent === 1) this.#tellDuplicate(outgoing);
    this.#settle(outgoing, error);
  }

  #tellDuplicate({ message, subject }: OutgoingMessage): void {
    this.#deps.logger.warn(
      { topic: message.topic, messageId: message.id },
      `a message was dropped by ${this.#deps.link.server}: the stream of ${JSON.stringify(subject)} got another one with its ID a short time ago`,
    );
  }

  /** No server stores the subject: there is no stream, or its server is away. */
  async #lookForStream(outgoing: OutgoingMessage): Promise<void> {
    const { link, topology } = this.#deps;
    const { session } = link;
    if (session === undefined) return;
    try {
      await topology.streamOf(session, outgoing.message.topic);
    } catch (error) {
      // Without the connection nothing is known: it is sent again on the next one.
      if (session === link.session) this.#settle(outgoing, error as Error);
      return;
    }
    if (outgoing.sent === 1 && session === link.session) this.#send(outgoing, session);
    else this.#sendLater(outgoing);
  }

  #sendLater(outgoing: OutgoingMessage): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      const { session } = this.#deps.link;
      if (session !== undefined && this.#pending.has(outgoing)) this.#send(outgoing, session);
    }, RETRY_MS);
    this.#timers.add(timer);
  }

  /** Messages without an acknowledgement are sent again, in order; the server drops those that it has already. */
  connected(session: NatsSession): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    for (const outgoing of [...this.#pending]) this.#send(outgoing, session);
  }

  disconnected(): void {
    // All wait for the next connection.
  }

  close(): void {
    this.#deps.link.leave(this);
    for (const timer of this.#timers) clearTimeout(timer);
    for (const outgoing of [...this.#pending]) this.#settle(outgoing, new Error('the component is closed'));
  }
}

function bytesOf({ message, headers }: OutgoingMessage): number {
  return message.data.length + headers.length;
}

/** A dead letter that is too large goes without its origin: it would be tried for ever. Whether it had one. */
function dropOrigin(outgoing: OutgoingMessage): boolean {
  const { deadLetter, ...rest } = outgoing.message;
  if (deadLetter === undefined) return false;
  outgoing.message = rest;
  outgoing.headers = encodeHeaders(rest, outgoing.subject);
  return true;
}
