import type { Deadline } from '../broker/deadlines.ts';
import type { PublishFailure } from '../pubsub.ts';
import type { MqttPacket, MqttProperties } from './driver.ts';
import type { OutgoingPacket } from './messages.ts';
import type { MqttConnection } from './mqtt-connection.ts';
import { MqttLink, type MqttLinkDeps, type MqttLinkUser } from './mqtt-link.ts';
import { describeReason, FIRST_FAILURE, QOS_NOT_SUPPORTED, RefusedError } from './refusals.ts';

const MAX_PACKET_ID = 65_535;
/** A message is sent again on so many connections at most: it may be what breaks them. */
const MAX_SENDS = 3;

/** A message that is on its way to the broker. */
interface PendingMessage {
  readonly outgoing: OutgoingPacket;
  readonly deadline: Deadline;
  sends: number;
  /** `undefined`: the broker has it. */
  readonly settle: (error: Error | undefined) => void;
}

/** Publishes with QoS 1, many messages at a time, on a connection of its own. */
export class MqttPublisher implements MqttLinkUser {
  readonly #name: string;
  readonly #link: MqttLink;
  /** Sent and not confirmed, by packet ID, in the order of sending. */
  readonly #sent = new Map<number, PendingMessage>();
  /** Not sent yet, or to be sent again. */
  #waiting: PendingMessage[] = [];
  #connection: MqttConnection | undefined;
  #lastId = 0;
  #window = MAX_PACKET_ID;

  constructor(deps: MqttLinkDeps) {
    this.#name = deps.broker.name;
    this.#link = new MqttLink(deps, this);
    this.#link.connect();
  }

  /** Why there is no connection, if that is known. */
  get failure(): string | undefined {
    return this.#link.failure;
  }

  /** Resolves once the broker has confirmed the messages, with the failures among them. */
  publish(messages: readonly (OutgoingPacket | Error)[], deadline: Deadline): Promise<readonly PublishFailure[]> {
    const failures: PublishFailure[] = [];
    let open = messages.length;
    return new Promise((resolve) => {
      for (const [index, outgoing] of messages.entries()) {
        const settle = (error: Error | undefined): void => {
          if (error !== undefined) failures.push({ index, error });
          if (--open === 0) resolve(failures);
        };
        if (outgoing instanceof Error) settle(outgoing);
        else this.#waiting.push({ outgoing, deadline, sends: 0, settle });
      }
      if (messages.length === 0) resolve(failures);
      this.#flush();
    });
  }

  connected(connection: MqttConnection): void {
    const { receiveMaximum = MAX_PACKET_ID, maximumQoS } = connection.limits;
    if (maximumQoS === 0)
      return connection.destroy(new RefusedError(`${this.#name} takes no messages with QoS 1`, QOS_NOT_SUPPORTED));
    this.#connection = connection;
    this.#window = receiveMaximum;
    this.#link.established();
    this.#flush();
  }

  packet(_connection: MqttConnection, { cmd, messageId = 0, reasonCode = 0, properties }: MqttPacket): void {
    if (cmd !== 'puback') return;
    const pending = this.#sent.get(messageId);
    if (pending === undefined) return;
    this.#sent.delete(messageId);
    pending.settle(reasonCode < FIRST_FAILURE ? undefined : this.#refusal(reasonCode, properties));
    if (this.#waiting.length > 0) this.#flush();
  }

  #refusal(code: number, properties: MqttProperties | undefined): Error {
    return new RefusedError(
      `${this.#name} refuses the message: ${describeReason(code, properties?.reasonString)}`,
      code,
    );
  }

  /** Unconfirmed messages are sent again, before later ones: the broker may have them twice then. */
  lost(error: Error): void {
    this.#connection = undefined;
    const again = [...this.#sent.values(), ...this.#waiting];
    this.#sent.clear();
    this.#waiting = [];
    const isFinal = error instanceof RefusedError && error.isFinal;
    for (const pending of again) {
      if (isFinal || pending.deadline.isOver || pending.sends >= MAX_SENDS) pending.settle(error);
      else this.#waiting.push(pending);
    }
  }

  #flush(): void {
    const connection = this.#connection;
    if (connection === undefined) return this.#forgetOverdue();
    let next = 0;
    for (; next < this.#waiting.length && this.#sent.size < this.#window; next++) {
      const pending = this.#waiting[next];
      if (pending !== undefined) this.#send(connection, pending);
    }
    if (next === this.#waiting.length) this.#waiting = [];
    else this.#waiting.splice(0, next);
  }

  #send(connection: MqttConnection, pending: PendingMessage): void {
    const { deadline, settle } = pending;
    // Its publish has failed already.
    if (deadline.isOver) return settle(undefined);
    const { maximumPacketSize = Number.POSITIVE_INFINITY, retainAvailable = true } = connection.limits;
    const outgoing = fitting(pending.outgoing, maximumPacketSize);
    if (outgoing.bytes > maximumPacketSize)
      return settle(
        new Error(`the message has ${outgoing.bytes} bytes: ${this.#name} takes at most ${maximumPacketSize}`),
      );
    if (outgoing.packet.retain === true && !retainAvailable)
      return settle(new Error(`${this.#name} keeps no retained messages`));
    const messageId = this.#freeId();
    pending.sends++;
    this.#sent.set(messageId, pending);
    connection.write({ ...outgoing.packet, messageId });
  }

  #freeId(): number {
    do this.#lastId = (this.#lastId % MAX_PACKET_ID) + 1;
    while (this.#sent.has(this.#lastId));
    return this.#lastId;
  }

  /** Drops messages whose publish has failed: without a connection, the queue would keep them. */
  #forgetOverdue(): void {
    const [oldest] = this.#waiting;
    if (oldest?.deadline.isOver === true) this.#waiting = this.#waiting.filter(({ deadline }) => !deadline.isOver);
  }

  async close(): Promise<void> {
    await this.#link.end();
    for (const { settle } of [...this.#sent.values(), ...this.#waiting]) settle(new Error('the component is closed'));
  }
}

function fitting(outgoing: OutgoingPacket, maxBytes: number): OutgoingPacket {
  return outgoing.bytes > maxBytes ? (outgoing.withoutOrigin ?? outgoing) : outgoing;
}
