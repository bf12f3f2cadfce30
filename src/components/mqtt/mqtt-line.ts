import type { Held, Line, LineReceiver, Received } from '../broker/line.ts';
import type { MqttPacket } from './driver.ts';
import { incoming, type MessageReading } from './messages.ts';
import type { MqttConnection } from './mqtt-connection.ts';
import { MqttLink, type MqttLinkDeps, type MqttLinkUser } from './mqtt-link.ts';
import { describeReason, FIRST_FAILURE, RefusedError } from './refusals.ts';

/** Packet IDs of the two sides are independent, and a session needs one only. */
const SUBSCRIBE_ID = 1;
const SETTLED = Promise.resolve();

/** A delivery: its packet ID, 0 for QoS 0, on its connection. */
export interface MqttHandle {
  readonly connection: MqttConnection;
  readonly id: number;
}

/** A message whose packet ID the broker cannot use for another one, because we have not acknowledged it. */
interface Unacknowledged {
  readonly key: string;
  readonly packet: MqttPacket;
  attempts: number;
}

export interface MqttLineDeps {
  readonly link: MqttLinkDeps;
  /** The topic filter. */
  readonly filter: string;
  readonly reading: MessageReading;
  /** Max messages without an acknowledgement. */
  readonly receiveMaximum: number;
}

/**
 * The session of one group on one topic: its pause and its slow messages hold up no other. The broker keeps its
 * messages while no process is connected.
 */
export class MqttLine implements Line<MqttHandle>, MqttLinkUser {
  readonly #deps: MqttLineDeps;
  readonly #receiver: LineReceiver<MqttHandle>;
  readonly #link: MqttLink;
  readonly #unacknowledged = new Map<number, Unacknowledged>();
  /** Messages that came before the group could settle them: a session begins to send before it is subscribed again. */
  #early: Received<MqttHandle>[] | undefined = [];
  #received: Received<MqttHandle>[] = [];
  #connection: MqttConnection | undefined;
  #lastKey = 0;
  #isStopped = false;
  #hasToldExpiry = false;
  #opened: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined;

  private constructor(deps: MqttLineDeps, receiver: LineReceiver<MqttHandle>) {
    this.#deps = deps;
    this.#receiver = receiver;
    this.#link = new MqttLink(deps.link, this);
  }

  /** Resolves once the broker has accepted the subscription. */
  static async open(deps: MqttLineDeps, receiver: LineReceiver<MqttHandle>): Promise<MqttLine> {
    const line = new MqttLine(deps, receiver);
    await new Promise<void>((resolve, reject) => {
      line.#opened = { resolve, reject };
      line.#link.connect();
    });
    return line;
  }

  connected(connection: MqttConnection): void {
    this.#connection = connection;
    this.#warnOfExpiry(connection);
    if (!connection.isSessionPresent) this.#unacknowledged.clear();
    // Each time: a broker may have lost the subscription of a session that it still knows. `rh: 1` leaves retained
    // messages out that the session has had.
    const subscription = { topic: this.#deps.filter, qos: 1, nl: false, rap: true, rh: 1 };
    connection.write({ cmd: 'subscribe', messageId: SUBSCRIBE_ID, subscriptions: [subscription] });
  }

  /** Says so once when the broker does not keep the session for ever. */
  #warnOfExpiry({ limits: { sessionExpiryInterval: seconds } }: MqttConnection): void {
    const { logger, purpose, session } = this.#deps.link;
    if (seconds === undefined || session.clean || this.#hasToldExpiry) return;
    this.#hasToldExpiry = true;
    logger.warn({ ...purpose, seconds }, 'the broker drops the messages of a group that is away for so many seconds');
  }

  packet(connection: MqttConnection, packet: MqttPacket): void {
    if (packet.cmd === 'publish') this.#receive(connection, packet);
    else if (packet.cmd === 'suback') this.#subscribed(packet);
  }

  #subscribed({ granted: [code = FIRST_FAILURE] = [], properties }: MqttPacket): void {
    if (code === 1 || code === 2) {
      this.#link.established();
      this.#opened?.resolve();
      this.#opened = undefined;
      return;
    }
    const { link, filter } = this.#deps;
    const reason =
      code === 0 ? 'it grants QoS 0 only, which loses messages' : describeReason(code, properties?.reasonString);
    this.#link.fail(
      new RefusedError(`${link.broker.name} refuses the subscription to ${JSON.stringify(filter)}: ${reason}`, code),
    );
  }

  lost(error: Error): void {
    this.#connection = undefined;
    this.#received = [];
    if (this.#early !== undefined) this.#early = [];
    if (this.#opened === undefined) return this.#isStopped ? undefined : this.#receiver.detach();
    this.#opened.reject(error);
    this.#opened = undefined;
    void this.#link.end();
  }

  #receive(connection: MqttConnection, packet: MqttPacket): void {
    const received = this.#receivedOf(connection, packet);
    if (this.#isStopped) return;
    if (this.#early !== undefined) {
      this.#early.push(received);
      return;
    }
    if (this.#received.length === 0) queueMicrotask(() => this.#deliver());
    this.#received.push(received);
  }

  /** A burst at once. */
  #deliver(): void {
    const received = this.#received;
    this.#received = [];
    if (received.length === 0) return;
    this.#receiver.deliver(received);
    this.#adjustReading();
  }

  #receivedOf(connection: MqttConnection, packet: MqttPacket): Received<MqttHandle> {
    const message = incoming(packet, this.#deps.reading);
    const { messageId: id = 0, qos } = packet;
    if (qos === 0) return { message, attempts: 0, handle: { connection, id: 0 } };
    const before = this.#unacknowledged.get(id);
    const isAgain = before !== undefined && packet.dup === true && isSame(before.packet, packet);
    const one = isAgain ? before : { key: String(++this.#lastKey), packet, attempts: 0 };
    this.#unacknowledged.set(id, one);
    return { message, attempts: one.attempts, handle: { connection, id }, key: one.key };
  }

  /**
   * A broker of MQTT 5 keeps to the limit by itself; that of MQTT 3.1.1 has a limit of its own, or none. Nothing is read
   * while too much is here, so that memory is bounded.
   */
  #adjustReading(): void {
    this.#connection?.read(this.#receiver.unsettled <= this.#deps.receiveMaximum);
  }

  roomChanged(): void {
    const early = this.#early;
    this.#early = undefined;
    if (early !== undefined && early.length > 0) this.#receiver.deliver(early);
    this.#adjustReading();
  }

  ack({ connection, id }: MqttHandle): Promise<void> {
    if (connection !== this.#connection) return Promise.reject(new Error('the connection to the broker is gone'));
    if (id !== 0) {
      // From here on, the broker may give the packet ID to another message.
      this.#unacknowledged.delete(id);
      connection.write({ cmd: 'puback', messageId: id });
    }
    this.#adjustReading();
    return SETTLED;
  }

  hold({ handle, attempts }: Held<MqttHandle>): Promise<void> {
    const one = this.#unacknowledged.get(handle.id);
    if (one !== undefined) one.attempts = attempts;
    return SETTLED;
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    this.#received = [];
    return SETTLED;
  }

  /** The session has them, and sends them again to its next connection. */
  release(): Promise<void> {
    return SETTLED;
  }

  close(): Promise<void> {
    return this.#link.end();
  }
}

/** One more look: after another process had the session, a packet ID may mean another message. */
function isSame(one: MqttPacket, other: MqttPacket): boolean {
  return one.topic === other.topic && (one.payload ?? Buffer.alloc(0)).equals(other.payload ?? Buffer.alloc(0));
}
