import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

/** A way to a server, which passes on what it is made to. */
export abstract class Way implements AsyncDisposable {
  /** All its sockets, of both sides. */
  protected readonly sockets: Socket[] = [];
  protected abstract readonly server: Server;

  async listen(): Promise<number> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
