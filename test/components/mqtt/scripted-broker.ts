import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { parser, writeToStream } from 'mqtt-packet';
import { until } from '../../support/broker-world.ts';

/** A packet of any kind. */
type Packet = Parameters<typeof writeToStream>[0];
type Received = Packet & { readonly clientId?: string; readonly messageId?: number };

/** A connection that a client has made. */
export interface Visit {
  readonly socket: Socket;
  readonly received: Received[];
  send(packet: Packet): boolean;
}

export interface Script {
  readonly protocolVersion: 4 | 5;
  /** The answer to the nth connection. Default: accepted. */
  readonly connack?: (nth: number) => object;
  /** The code of a SUBACK. Default: 1. */
  readonly granted?: number;
  /** Called once a client is subscribed. */
  readonly subscribed?: (visit: Visit, nth: number) => void;
}

/** A broker that sends what a test wants: packets that a real one sends only when it has bad luck. */
export class ScriptedBroker implements AsyncDisposable {
  readonly visits: Visit[] = [];
  readonly #server: Server;
  readonly #script: Script;

  private constructor(script: Script) {
    this.#script = script;
    this.#server = createServer((socket) => this.#welcome(socket));
  }

  static async start(script: Script): Promise<ScriptedBroker> {
    const broker = new ScriptedBroker(script);
    await new Promise<void>((resolve) => broker.#server.listen(0, '127.0.0.1', resolve));
    return broker;
  }

  get url(): string {
    return `mqtt://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The connections that have subscribed. */
  get subscribers(): readonly Visit[] {
    return this.visits.filter(({ received }) => received.some(({ cmd }) => cmd === 'subscribe'));
  }

  /** Waits for the nth connection that subscribes. */
  async subscriber(nth: number): Promise<Visit> {
    await until(`there is subscriber ${nth}`, () => this.subscribers.length >= nth);
    const visit = this.subscribers[nth - 1];
    if (visit === undefined) throw new Error('no subscriber');
    return visit;
  }

  #welcome(socket: Socket): void {
    const { protocolVersion, connack = () => ({}), granted = 1, subscribed } = this.#script;
    const read = parser({ protocolVersion });
    const received: Received[] = [];
    const send = (packet: Packet): boolean => writeToStream(packet, socket, { protocolVersion });
    const visit = { socket, received, send };
    this.visits.push(visit);
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => read.parse(bytes));
    read.on('packet', (packet: Received) => {
      received.push(packet);
      if (packet.cmd === 'connect')
        send({
          cmd: 'connack',
          sessionPresent: false,
          reasonCode: 0,
          returnCode: 0,
          ...connack(this.visits.length),
        } as Packet);
      if (packet.cmd === 'pingreq') send({ cmd: 'pingresp' });
      if (packet.cmd === 'disconnect') socket.end();
      if (packet.cmd !== 'subscribe') return;
      send({ cmd: 'suback', messageId: packet.messageId ?? 0, granted: [granted] } as Packet);
      subscribed?.(visit, this.subscribers.length);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const { socket } of this.visits) socket.destroy();
    await closed;
  }
}

/** A PUBLISH of a broker. */
export function publishPacket(messageId: number, text: string, dup = false): Packet {
  return { cmd: 'publish', topic: 'topic', payload: text, qos: 1, messageId, dup, retain: false };
}
