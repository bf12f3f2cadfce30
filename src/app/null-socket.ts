import { Duplex } from 'node:stream';

/** A socket that leads nowhere, with the fields that frameworks read. */
export class NullSocket extends Duplex {
  readonly remoteAddress = '127.0.0.1';
  readonly localAddress = '127.0.0.1';
  readonly remotePort = 0;
  readonly localPort = 0;
  readonly encrypted = false;

  constructor() {
    super();
    // Errors are handled by the request and the response.
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
