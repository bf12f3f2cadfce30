import type { Socket } from 'node:net';

const HEADER_BYTES = 4;

/** Divides what a socket receives into frames: the length of each, in four bytes, precedes it. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** The length of the next frame, once it is known. */
  #length: number | undefined;
  /** The largest frame that is accepted. */
  maxBytes: number;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Passes on the frames that are complete with a chunk. @throws RangeError for a frame that is too large. */
  push(chunk: Buffer, onFrame: (frame: Buffer) => void): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) onFrame(frame);
  }

  #next(): Buffer | undefined {
    if (this.#length === undefined) {
      if (this.#bytes < HEADER_BYTES) return undefined;
      this.#length = this.#take(HEADER_BYTES).readUInt32LE();
      if (this.#length > this.maxBytes)
        throw new RangeError(`a frame of ${this.#length} bytes; at most ${this.maxBytes} are accepted`);
    }
    if (this.#bytes < this.#length) return undefined;
    const frame = this.#take(this.#length);
    this.#length = undefined;
    return frame;
  }

  /** Joins chunks only for a frame that is complete: each byte is copied once at most. */
  #take(bytes: number): Buffer {
    const [first] = this.#chunks;
    const all = first !== undefined && first.length >= bytes ? first : Buffer.concat(this.#chunks);
    const rest = all.subarray(bytes);
    if (all === first) this.#chunks[0] = rest;
    else this.#chunks = [rest];
    if (rest.length === 0) this.#chunks.shift();
    this.#bytes -= bytes;
    return all.subarray(0, bytes);
  }
}

/** The events of a {@link FramedSocket}. */
export interface FrameListener {
  /** May throw if the frame is not understood. */
  readonly onFrame: (frame: Buffer) => void;
  /** The connection has ended: by an error, because of a frame that is not understood, or by the other side. */
  readonly onEnd: (reason: string) => void;
}

/** A socket that carries frames. It does not keep the process alive. */
export class FramedSocket {
  readonly #socket: Socket;
  readonly #reader: FrameReader;
  #reason = 'the connection was closed';

  constructor(socket: Socket, maxBytes: number, listener: FrameListener) {
    this.#socket = socket.unref();
    this.#reader = new FrameReader(maxBytes);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk, listener));
    socket.on('error', (error) => {
      this.#reason = error.message;
    });
    socket.on('close', () => listener.onEnd(this.#reason));
  }

  /** The largest frame that is accepted. */
  set maxBytes(maxBytes: number) {
    this.#reader.maxBytes = maxBytes;
  }

  /** How many bytes the other side has not read yet. */
  get unreadBytes(): number {
    return this.#socket.writableLength;
  }

  #receive(chunk: Buffer, { onFrame }: FrameListener): void {
    try {
      this.#reader.push(chunk, (frame) => {
        if (!this.#socket.destroyed) onFrame(frame);
      });
    } catch (error) {
      this.#reason = `what was received is not understood: ${error instanceof Error ? error.message : String(error)}`;
      this.destroy();
    }
  }

  send(frame: Uint8Array): void {
    if (!this.#socket.writable) return;
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    header.writeUInt32LE(frame.byteLength);
    this.#socket.cork();
    this.#socket.write(header);
    this.#socket.write(frame);
    this.#socket.uncork();
  }

  /** Ends the connection once what was sent is on its way. */
  end(): void {
    this.#socket.destroySoon();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
