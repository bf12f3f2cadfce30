import { Duplex } from 'node:stream';

/** What frameworks ask of a socket: an address, and to exist. */
export class NullSocket extends Duplex {
  readonly remoteAddress = '127.0.0.1';
  readonly localAddress = '127.0.0.1';
  readonly remotePort = 0;
  readonly localPort = 0;
  readonly encrypted = false;

  constructor() {
    super();
    // Destroyed with an error, it has nobody to tell; the request and the response have heard of it.
    this.on('error', () => undefined);
  }

  override _read(): void {}
  override _write(_chunk: unknown, _encoding: BufferEncoding, callback: () => void): void {
    callback();
  }
  setTimeout(): this {
    return this;
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  address(): object {
    return { address: '127.0.0.1', family: 'IPv4', port: 0 };
  }
}
