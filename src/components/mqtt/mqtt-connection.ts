import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../util/timers.ts';
import type { MqttPacket, MqttPacketModule, MqttProperties, PacketOptions } from './driver.ts';
import { connectReason, describeReason, RefusedError } from './refusals.ts';

/** Until the broker has accepted the connection and, for a session, the subscription. */
const ESTABLISH_TIMEOUT_MS = 5_000;
/** How long a broker may take to close a connection that was ended. */
const END_TIMEOUT_MS = 1_000;

/** Where a broker is, and how to log in. */
export interface MqttBroker {
  /** For messages, without credentials. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** The options of `tls.connect`, if TLS is spoken. */
  readonly tls: object | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly protocolVersion: 4 | 5;
  readonly keepAliveS: number;
}

/** The broker's session for a client ID. */
export interface MqttSession {
  readonly clientId: string;
  /** Whether the broker keeps nothing after the connection. */
  readonly clean: boolean;
  /** Max messages that the broker may have sent without a PUBACK. MQTT 5 only. */
  readonly receiveMaximum: number | undefined;
}

/** The events of a connection. */
export interface ConnectionEvents {
  /** The broker has accepted it. Messages of the session may follow at once. */
  connected(connection: MqttConnection): void;
  packet(connection: MqttConnection, packet: MqttPacket): void;
  /** The end, once, also of a connection that never was accepted. */
  closed(connection: MqttConnection, error: Error): void;
}

export interface ConnectionDeps {
  readonly packets: MqttPacketModule;
  readonly broker: MqttBroker;
  readonly session: MqttSession;
  readonly events: ConnectionEvents;
}

/**
 * One connection to a broker. The package `mqtt-packet` writes and reads the packets; the acknowledgements are ours:
 * the client of `mqtt` sends them one after the other, in the order of receipt, before it reads on.
 */
export class MqttConnection {
  readonly #deps: ConnectionDeps;
  readonly #options: PacketOptions;
  readonly #socket: Socket;
  #timer: NodeJS.Timeout | undefined;
  #pings: NodeJS.Timeout | undefined;
  #isConnected = false;
  #isClosed = false;
  /** Whether something has come in since the last PINGREQ. */
  #isHeard = true;
  #error: Error | undefined;
  /** The limits that the broker's CONNACK has named. */
  limits: MqttProperties = {};
  isSessionPresent = false;
  /** Whether the broker has ended the connection, without an error on the way. */
  isEndedByBroker = false;

  constructor(deps: ConnectionDeps) {
    this.#deps = deps;
    const { broker, packets } = deps;
    this.#options = { protocolVersion: broker.protocolVersion };
    this.#socket = socketTo(broker);
    this.#socket.setNoDelay(true);
    this.#timer = setTimeout(
      () => this.destroy(new Error(`${broker.name} did not respond within ${ESTABLISH_TIMEOUT_MS} ms`)),
      ESTABLISH_TIMEOUT_MS,
    );
    const parser = packets.parser(this.#options);
    parser.on('packet', (packet) => this.#take(packet));
    parser.on('error', (error) => this.destroy(new Error(`${broker.name} sent no valid packet: ${error.message}`)));
    this.#socket.on('data', (bytes: Buffer) => {
      this.#isHeard = true;
      if (!this.#isClosed) parser.parse(bytes);
    });
    this.#socket.on('error', (error) => this.destroy(connectionError(error, broker)));
    this.#socket.on('end', () => {
      this.isEndedByBroker = this.#error === undefined;
    });
    this.#socket.on('close', () => this.destroy(new Error(`${broker.name} has closed the connection`)));
    this.write(this.#connectPacket());
  }

  #connectPacket(): object {
    const { broker, session } = this.#deps;
    const { username, password, protocolVersion, keepAliveS } = broker;
    const properties = {
      // Without it, a session of MQTT 5 ends with its connection.
      ...(session.clean ? undefined : { sessionExpiryInterval: 0xffff_ffff }),
      ...(session.receiveMaximum === undefined ? undefined : { receiveMaximum: session.receiveMaximum }),
    };
    return {
      ...{ cmd: 'connect', protocolId: 'MQTT', protocolVersion, keepalive: keepAliveS },
      ...{ clientId: session.clientId, clean: session.clean },
      ...(username === undefined ? undefined : { username }),
      ...(password === undefined ? undefined : { password: Buffer.from(password) }),
      ...(protocolVersion === 5 ? { properties } : undefined),
    };
  }

  #take(packet: MqttPacket): void {
    if (this.#isClosed) return;
    if (!this.#isConnected) return this.#greeted(packet);
    if (packet.cmd === 'pingresp') return;
    if (packet.cmd !== 'disconnect') return this.#deps.events.packet(this, packet);
    const { reasonCode = 0, properties } = packet;
    const reason = describeReason(reasonCode, properties?.reasonString);
    this.destroy(new RefusedError(`${this.#deps.broker.name} has ended the connection: ${reason}`, reasonCode));
  }

  #greeted({ cmd, returnCode, reasonCode, properties, sessionPresent }: MqttPacket): void {
    const { broker, session, events } = this.#deps;
    if (cmd !== 'connack') return this.destroy(new Error(`${broker.name} does not speak MQTT there`));
    const code = connectReason(returnCode ?? reasonCode ?? 0);
    if (code !== 0) {
      const reason = describeReason(code, properties?.reasonString);
      const client = `client ID ${JSON.stringify(session.clientId)}, MQTT ${broker.protocolVersion === 5 ? '5' : '3.1.1'}`;
      return this.destroy(new RefusedError(`${broker.name} refuses the connection: ${reason}; ${client}`, code));
    }
    this.#isConnected = true;
    this.limits = properties ?? {};
    this.isSessionPresent = sessionPresent === true;
    this.#keepAlive(Math.min(broker.keepAliveS, this.limits.serverKeepAlive || broker.keepAliveS));
    events.connected(this);
  }

  /** Looks twice in each interval whether the broker is still there. */
  #keepAlive(intervalS: number): void {
    this.#pings = setInterval(() => {
      if (!this.#isHeard && !this.#socket.isPaused())
        return this.destroy(new Error(`${this.#deps.broker.name} has not responded for ${intervalS / 2} s`));
      this.#isHeard = false;
      this.write({ cmd: 'pingreq' });
    }, intervalS * 500);
  }

  /** Ends the time limit of the beginning. */
  established(): void {
    clearTimeout(this.#timer);
  }

  /** Writes a packet. Returns whether the connection is open: then only its end can keep the packet back. */
  write(packet: object): boolean {
    if (this.#isClosed || this.#socket.writableEnded) return false;
    this.#deps.packets.writeToStream(packet, this.#socket, this.#options);
    return true;
  }

  /** Stops or continues to read what the broker sends: while nothing is read, it can send no more than the network holds. */
  read(isWanted: boolean): void {
    if (isWanted === !this.#socket.isPaused()) return;
    if (isWanted) this.#socket.resume();
    else this.#socket.pause();
  }

  /** Says goodbye and resolves once the connection is closed. */
  async end(): Promise<void> {
    if (this.#isClosed) return;
    clearInterval(this.#pings);
    clearTimeout(this.#timer);
    this.#error = new Error('the connection is ended');
    this.#isClosed = true;
    const closed = new Promise((resolve) => this.#socket.once('close', resolve));
    const timer = setTimeout(() => this.#socket.destroy(), END_TIMEOUT_MS);
    if (this.#isConnected) this.#deps.packets.writeToStream({ cmd: 'disconnect' }, this.#socket, this.#options);
    this.#socket.resume();
    this.#socket.end();
    await closed;
    clearTimeout(timer);
    this.#deps.events.closed(this, this.#error);
  }

  /** Closes the connection at once. */
  destroy(error: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#error = error;
    clearTimeout(this.#timer);
    clearInterval(this.#pings);
    this.#socket.destroy();
    this.#deps.events.closed(this, error);
  }
}

function socketTo({ host, port, tls }: MqttBroker): Socket {
  if (tls === undefined) return connectTcp({ host, port });
  return connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : undefined), ...tls });
}

function connectionError(
  error: Error & { readonly code?: unknown; readonly errors?: readonly Error[] },
  broker: MqttBroker,
): Error {
  const text = error.message || error.errors?.map(({ message }) => message).join(', ') || String(error.code);
  if (typeof error.code === 'string' && /^(CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|ERR_TLS_CERT_)/.test(error.code))
    return new Error(
      `${broker.name} has a certificate that this process does not trust: ${text} (${error.code}). The certificate of its authority belongs into the option tls ("ca").`,
      { cause: error },
    );
  if (error.code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return new Error(`${broker.name} does not speak TLS there, and the url demands it`, { cause: error });
  return new Error(`${broker.name} cannot be reached: ${text}`, { cause: error });
}
