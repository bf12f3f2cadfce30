import { createHash } from 'node:crypto';

const BYTES_OF_NUMBER = 6;
const NUMBERS = 2 ** (8 * BYTES_OF_NUMBER);
const VERSION_BYTE = 6;
const VARIANT_BYTE = 8;
const UUID_PARTS = [0, 4, 6, 8, 10, 16] as const;

/** Pseudo-random numbers and UUIDs: the same sequence for the same seed. */
export class SeededRandom {
  readonly #seed: string;
  #count = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  #next(): Buffer {
    return createHash('sha256')
      .update(`${this.#seed}/${++this.#count}`)
      .digest();
  }

  /** A number from 0 (inclusive) to 1 (exclusive). */
  number(): number {
    return this.#next().readUIntBE(0, BYTES_OF_NUMBER) / NUMBERS;
  }

  /** A UUID of version 8 (RFC 9562), which does not define the other bits. */
  uuid(): string {
    const bytes = this.#next();
    bytes[VERSION_BYTE] = ((bytes[VERSION_BYTE] ?? 0) & 0x0f) | 0x80;
    bytes[VARIANT_BYTE] = ((bytes[VARIANT_BYTE] ?? 0) & 0x3f) | 0x80;
    return UUID_PARTS.slice(1)
      .map((end, index) => bytes.toString('hex', UUID_PARTS[index], end))
      .join('-');
  }
}
