import type { Duplex } from 'node:stream';
import { loadBrokerDriver } from '../broker/load-driver.ts';

/** Properties of MQTT 5, in the terms of `mqtt-packet`. */
export interface MqttProperties {
  readonly contentType?: string;
  /** In seconds. */
  readonly messageExpiryInterval?: number;
  readonly userProperties?: Readonly<Record<string, string | readonly string[]>>;
  /** In seconds. */
  readonly sessionExpiryInterval?: number;
  readonly receiveMaximum?: number;
  readonly maximumPacketSize?: number;
  readonly maximumQoS?: number;
  readonly retainAvailable?: boolean;
  /** In seconds. */
  readonly serverKeepAlive?: number;
  readonly reasonString?: string;
}

/** A packet, in the terms of `mqtt-packet`. Which fields there are depends on `cmd`. */
export interface MqttPacket {
  readonly cmd: string;
  readonly messageId?: number;
  readonly topic?: string;
  readonly payload?: Buffer;
  readonly qos?: number;
  readonly dup?: boolean;
  readonly retain?: boolean;
  readonly sessionPresent?: boolean;
  /** Of MQTT 3.1.1. */
  readonly returnCode?: number;
  /** Of MQTT 5. */
  readonly reasonCode?: number;
  /** Of a SUBACK, one for each subscription. */
  readonly granted?: readonly number[];
  readonly properties?: MqttProperties;
}

/** Which packets are written and read. */
export interface PacketOptions {
  readonly protocolVersion: 4 | 5;
}

/** The used part of the package `mqtt-packet`: it need not be installed. */
export interface MqttPacketModule {
  parser(options: PacketOptions): {
    on(event: 'packet', listener: (packet: MqttPacket) => void): unknown;
    on(event: 'error', listener: (error: Error) => void): unknown;
    parse(bytes: Buffer): number;
  };
  /** Writes a packet; packets that are written in one turn go out together. */
  writeToStream(packet: object, stream: Duplex, options: PacketOptions): boolean;
}

/**
 * Loads the driver.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming the package to install.
 */
export function loadMqttPacket(type: string, name = 'mqtt-packet'): Promise<MqttPacketModule> {
  return loadBrokerDriver({ name, version: '9' }, type);
}
