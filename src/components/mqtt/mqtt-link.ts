import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import type { Logger } from '../../util/logger.ts';
import type { OutageLog } from '../outage-log.ts';
import { type Loss, Reconnector } from '../reconnector.ts';
import type { MqttPacket, MqttPacketModule } from './driver.ts';
import { type MqttBroker, MqttConnection, type MqttSession } from './mqtt-connection.ts';
import { RefusedError, SESSION_TAKEN_OVER } from './refusals.ts';

/** Two processes with one client ID must not keep each other from work. */
const TAKEN_OVER: Backoff = { initialDelayMs: 3_000, maxDelayMs: 60_000, factor: 2, jitter: 0.5 };
/** A connection that lasted longer was not ended because of another process. */
const STABLE_MS = 10_000;
/** MQTT 3.1.1 does not say why a broker ends a connection: so many short ones in sequence look like a takeover. */
const MANY_ENDS = 6;

/** Uses a link. */
export interface MqttLinkUser {
  /** A new connection, before anything else of it. Calls `established()` of the link when all is as it must be. */
  connected(connection: MqttConnection): void;
  packet(connection: MqttConnection, packet: MqttPacket): void;
  /** The connection is gone, or there was none. Another attempt follows, unless the link is ended. */
  lost(error: Error): void;
}

export interface MqttLinkDeps {
  readonly packets: MqttPacketModule;
  readonly broker: MqttBroker;
  readonly session: MqttSession;
  readonly logger: Logger;
  readonly outages: OutageLog;
  /** The use of the connection, for the log. */
  readonly purpose: object;
  readonly random: () => number;
  /** The log's words when another process uses the client ID. */
  readonly takenOver: string;
}

interface PendingConnect {
  readonly resolve: (connection: MqttConnection) => void;
  readonly reject: (error: Error) => void;
}

/** A session's connection to the broker. Notices when another process uses its client ID. */
export class MqttLink {
  readonly #deps: MqttLinkDeps;
  readonly #user: MqttLinkUser;
  readonly #reconnector: Reconnector<MqttConnection>;
  /** The latest connection, also while it is not established. */
  #connection: MqttConnection | undefined;
  #attempt: PendingConnect | undefined;
  #shortLives = 0;
  #takeovers = 0;

  constructor(deps: MqttLinkDeps, user: MqttLinkUser) {
    this.#deps = deps;
    this.#user = user;
    const { outages, random } = deps;
    this.#reconnector = new Reconnector(
      {
        connect: (signal) => this.#connect(signal),
        end: (connection) => connection.end(),
        outages,
        random,
      },
      { pauseAfter: (loss) => (this.#isTakenOver(loss) ? this.#takenOver() : undefined) },
    );
  }

  /** Why there is no connection, if that is known. */
  get failure(): string | undefined {
    return this.#reconnector.failure?.message;
  }

  connect(): void {
    this.#reconnector.start();
  }

  #connect(signal: AbortSignal): Promise<MqttConnection> {
    const { packets, broker, session } = this.#deps;
    return new Promise((resolve, reject) => {
      this.#attempt = { resolve, reject };
      const connection = new MqttConnection({
        ...{ packets, broker, session },
        events: {
          connected: (one) => this.#user.connected(one),
          packet: (one, packet) => this.#user.packet(one, packet),
          closed: (one, error) => this.#closed(one, error),
        },
      });
      this.#connection = connection;
      signal.addEventListener('abort', () => void connection.end());
    });
  }

  /** The connection does what it is for. */
  established(): void {
    if (this.#connection === undefined) return;
    this.#connection.established();
    this.#attempt?.resolve(this.#connection);
  }

  #closed(connection: MqttConnection, error: Error): void {
    this.#connection = undefined;
    this.#user.lost(error);
    this.#attempt?.reject(error);
    this.#reconnector.lose(connection, error);
  }

  /** Whether another process with the same client ID seems to be at work. */
  #isTakenOver({ connection, error, livedMs }: Loss<MqttConnection>): boolean {
    if (livedMs >= STABLE_MS) this.#shortLives = 0;
    if (livedMs >= STABLE_MS * 10) this.#takeovers = 0;
    if (error instanceof RefusedError && error.reason === SESSION_TAKEN_OVER) return true;
    return connection.isEndedByBroker && livedMs < STABLE_MS && ++this.#shortLives >= MANY_ENDS;
  }

  #takenOver(): number {
    const { logger, purpose, session, takenOver, random } = this.#deps;
    // Once is what happens when a new process replaces an old one.
    if (++this.#takeovers === 2) logger.error({ ...purpose, clientId: session.clientId }, takenOver);
    return backoffDelayMs(TAKEN_OVER, this.#takeovers, random);
  }

  /** Ends the connection and all attempts. */
  end(): Promise<void> {
    return this.#reconnector.close();
  }

  /** As after an error of the connection. */
  fail(error: Error): void {
    this.#connection?.destroy(error);
  }
}
