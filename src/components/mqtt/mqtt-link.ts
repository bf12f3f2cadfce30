import { messageOf } from '../../errors.ts';
import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import type { Logger } from '../../util/logger.ts';
import { clearTimeout, setTimeout } from '../../util/timers.ts';
import type { OutageLog } from '../broker/outage-log.ts';
import type { MqttPacket, MqttPacketModule } from './driver.ts';
import { type MqttBroker, MqttConnection, type MqttSession } from './mqtt-connection.ts';
import { RefusedError, SESSION_TAKEN_OVER } from './refusals.ts';

const RECONNECT: Backoff = { initialDelayMs: 50, maxDelayMs: 3_000, factor: 2, jitter: 0.5 };
/** Two processes with one client ID must not keep each other from work. */
const TAKEN_OVER: Backoff = { initialDelayMs: 3_000, maxDelayMs: 60_000, factor: 2, jitter: 0.5 };
/** A connection that lasted for so long was a good one. */
const STABLE_MS = 10_000;
/** MQTT 3.1.1 does not say why a broker ends a connection: so many short ones in sequence look like a takeover. */
const MANY_ENDS = 6;

/** Who uses a link. */
export interface LinkUser {
  /** A new connection, before anything else of it. Calls `established()` of the link when all is as it must be. */
  connected(connection: MqttConnection): void;
  packet(connection: MqttConnection, packet: MqttPacket): void;
  /** The connection is gone, or there was none. Another attempt follows, unless the link is ended. */
  lost(error: Error): void;
}

export interface LinkDeps {
  readonly packets: MqttPacketModule;
  readonly broker: MqttBroker;
  readonly session: MqttSession;
  readonly logger: Logger;
  readonly outages: OutageLog;
  /** What the connection is for, for the log. */
  readonly purpose: object;
  readonly random: () => number;
  /** The log's words when another process uses the client ID. */
  readonly takenOver: string;
}

/** Keeps one connection to the broker: connects again for ever, with a growing delay. */
export class MqttLink {
  readonly #deps: LinkDeps;
  readonly #user: LinkUser;
  #connection: MqttConnection | undefined;
  #timer: NodeJS.Timeout | undefined;
  #establishedAt: number | undefined;
  #failures = 0;
  #shortLives = 0;
  #takeovers = 0;
  #isEnded = false;
  /** Why there is no connection, if an attempt has failed. */
  #failure: string | undefined;

  constructor(deps: LinkDeps, user: LinkUser) {
    this.#deps = deps;
    this.#user = user;
  }

  /** Why there is no connection, if that is known. */
  get failure(): string | undefined {
    return this.#failure;
  }

  connect(): void {
    const { packets, broker, session } = this.#deps;
    const events = {
      connected: (connection: MqttConnection) => this.#user.connected(connection),
      packet: (connection: MqttConnection, packet: MqttPacket) => this.#user.packet(connection, packet),
      closed: (connection: MqttConnection, error: Error) => this.#closed(connection, error),
    };
    this.#connection = new MqttConnection({ packets, broker, session, events });
  }

  /** The connection does what it is for. */
  established(): void {
    this.#connection?.established();
    this.#establishedAt = performance.now();
    this.#failures = 0;
    this.#deps.outages.onConnected(this);
    this.#failure = undefined;
  }

  #closed(connection: MqttConnection, error: Error): void {
    const livedMs = this.#establishedAt === undefined ? undefined : performance.now() - this.#establishedAt;
    this.#establishedAt = undefined;
    this.#connection = undefined;
    this.#user.lost(error);
    if (this.#isEnded) return;
    const delayMs = this.#isTakenOver(connection, error, livedMs) ? this.#takenOver() : this.#failed(error);
    this.#timer = setTimeout(() => this.connect(), delayMs);
  }

  /** Whether another process with the same client ID seems to be at work. */
  #isTakenOver(connection: MqttConnection, error: Error, livedMs: number | undefined): boolean {
    if (livedMs === undefined) return false;
    if (livedMs >= STABLE_MS) this.#shortLives = 0;
    if (livedMs >= STABLE_MS * 10) this.#takeovers = 0;
    const isCertain = error instanceof RefusedError && error.reason === SESSION_TAKEN_OVER;
    if (!isCertain && !(connection.isEndedByBroker && livedMs < STABLE_MS && ++this.#shortLives >= MANY_ENDS))
      return false;
    this.#takeovers++;
    return true;
  }

  #takenOver(): number {
    const { logger, purpose, session, takenOver, random } = this.#deps;
    // Once is what happens when a new process replaces an old one.
    if (this.#takeovers === 2) logger.error({ ...purpose, clientId: session.clientId }, takenOver);
    return backoffDelayMs(TAKEN_OVER, this.#takeovers, random);
  }

  #failed(error: Error): number {
    const { outages, random } = this.#deps;
    this.#failure = messageOf(error);
    outages.onLost(this, this.#failure);
    return backoffDelayMs(RECONNECT, ++this.#failures, random);
  }

  /** Ends the connection and all attempts. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#deps.outages.onClosed(this);
    clearTimeout(this.#timer);
    await this.#connection?.end();
  }

  /** As after an error of the connection. */
  fail(error: Error): void {
    this.#connection?.destroy(error);
  }
}
