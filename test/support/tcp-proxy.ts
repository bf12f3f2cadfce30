import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A proxy in front of a server of this machine, which can be slow, silent or broken. */
export class TcpProxy implements AsyncDisposable {
  /** The time there and back: each piece of what the target answers is that much later. */
  delayMs = 0;
  /** Nothing comes through, and nothing tells so. */
  isBlackHole = false;
  /** How many pieces of what the target answers still come through. */
  answersLeft = Number.POSITIVE_INFINITY;
  /** Where new connections lead; those that there are stay. */
  target: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: number) {
    this.target = target;
    this.#server = createServer((inbound) => {
      const outbound = connect(this.target, '127.0.0.1');
      this.#join(inbound, outbound, false);
      this.#join(outbound, inbound, true);
    });
  }

  static async start(target: number, port = 0): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(port, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** How many connections there are, each counted at both of its ends. */
  get connections(): number {
    return this.#sockets.size;
  }

  #join(from: Socket, to: Socket, answers: boolean): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    from.on('error', () => undefined);
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
    from.on('data', (bytes) => {
      if (this.isBlackHole || (answers && --this.answersLeft < 0)) return;
      if (this.delayMs === 0 || !answers) to.write(bytes);
      else setTimeout(() => to.write(bytes), this.delayMs);
    });
  }

  /** Cuts every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }
}
