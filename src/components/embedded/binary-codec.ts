/*
 * Requests and replies pass between the threads as one packed buffer per turn of the event loop, transferred without
 * copying. Packing copies each key and value once, which is necessary anyway (they belong to the caller), and costs a
 * fraction of cloning as many objects; cloning a view would also copy its entire buffer.
 */
const FIRST_CAPACITY = 4096;
/** Initial capacity is the size of the last packet, up to this limit. */
const MAX_REMEMBERED = 1024 * 1024;
const MAX_BYTES_PER_UNIT = 3;
const U32_BYTES = 4;
const F64_BYTES = 8;

/** Packs numbers, texts and bytes in sequence. */
export class BinaryWriter {
  #buffer: Buffer | undefined;
  #length = 0;
  #capacity = FIRST_CAPACITY;

  get length(): number {
    return this.#length;
  }

  byte(value: number): void {
    const buffer = this.#reserve(1);
    buffer[this.#length++] = value;
  }

  /** A whole number below 2^32. */
  u32(value: number): void {
    const buffer = this.#reserve(U32_BYTES);
    this.#length = buffer.writeUInt32LE(value, this.#length);
  }

  /** Any number; exact for safe integers. */
  f64(value: number): void {
    const buffer = this.#reserve(F64_BYTES);
    this.#length = buffer.writeDoubleLE(value, this.#length);
  }

  text(value: string): void {
    const buffer = this.#reserve(U32_BYTES + value.length * MAX_BYTES_PER_UNIT);
    const written = buffer.write(value, this.#length + U32_BYTES, 'utf8');
    this.#length = buffer.writeUInt32LE(written, this.#length) + written;
  }

  bytes(value: Uint8Array): void {
    const buffer = this.#reserve(U32_BYTES + value.byteLength);
    const start = buffer.writeUInt32LE(value.byteLength, this.#length);
    buffer.set(value, start);
    this.#length = start + value.byteLength;
  }

  /** The packed bytes; the writer is empty afterwards. The result has its own buffer and can be transferred. */
  take(): Uint8Array<ArrayBuffer> {
    const packed = this.#reserve(0).subarray(0, this.#length) as Uint8Array<ArrayBuffer>;
    this.#capacity = Math.min(MAX_REMEMBERED, Math.max(FIRST_CAPACITY, this.#length));
    this.#buffer = undefined;
    this.#length = 0;
    return packed;
  }

  #reserve(more: number): Buffer {
    const needed = this.#length + more;
    const buffer = this.#buffer;
    if (buffer !== undefined && needed <= buffer.length) return buffer;
    // allocUnsafeSlow, because memory of the pool cannot be transferred.
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#capacity, needed, 2 * (buffer?.length ?? 0)));
    if (buffer !== undefined) buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
    return grown;
  }
}

/** Reads the packet of a {@link BinaryWriter}, in the same order. */
export class BinaryReader {
  readonly #buffer: Buffer;
  #offset = 0;

  constructor(packet: Uint8Array) {
    this.#buffer = Buffer.from(packet.buffer, packet.byteOffset, packet.byteLength);
  }

  /** Whether the whole packet was read. */
  get atEnd(): boolean {
    return this.#offset >= this.#buffer.length;
  }

  byte(): number {
    return this.#buffer.readUInt8(this.#offset++);
  }

  u32(): number {
    const value = this.#buffer.readUInt32LE(this.#offset);
    this.#offset += U32_BYTES;
    return value;
  }

  f64(): number {
    const value = this.#buffer.readDoubleLE(this.#offset);
    this.#offset += F64_BYTES;
    return value;
  }

  text(): string {
    const length = this.u32();
    const start = this.#offset;
    this.#offset += length;
    return this.#buffer.toString('utf8', start, this.#offset);
  }

  /** A view of the packet's memory. */
  view(): Uint8Array {
    const length = this.u32();
    const start = this.#offset;
    this.#offset += length;
    return this.#buffer.subarray(start, this.#offset);
  }

  /** A copy with its own memory. */
  bytes(): Uint8Array {
    return new Uint8Array(this.view());
  }
}
