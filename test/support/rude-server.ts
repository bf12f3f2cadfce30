import { type AddressInfo, createServer, type Socket } from 'node:net';

/** How a server fails that takes connections. `hangs` says nothing, `resets` breaks off once it was asked. */
export type Rudeness = 'hangs' | 'closes' | 'resets' | { readonly says: string };

export interface RudeServer extends AsyncDisposable {
  readonly port: number;
  /** Connections that were asked something, and are closed. */
  readonly left: number;
  /** Connections that something was sent on. */
  readonly asked: number;
}

/** A server that takes connections and does not do what is asked for. */
export async function rudeServer(rudeness: Rudeness): Promise<RudeServer> {
  const sockets = new Set<Socket>();
  let asked = 0;
  let left = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (rudeness === 'closes') return void socket.end();
    // What comes after that is read too, as is the end of the connection.
    socket.once('data', () => {
      socket.resume();
      asked++;
      socket.on('close', () => left++);
      if (rudeness === 'resets') socket.resetAndDestroy();
      else if (rudeness !== 'hangs') socket.end(rudeness.says);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get left() {
      return left;
    },
    get asked() {
      return asked;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
