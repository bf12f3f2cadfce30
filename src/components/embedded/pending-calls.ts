import type { StateError } from '../../state/errors.ts';
import { BinaryReader, BinaryWriter } from './binary-codec.ts';

/** A packet of so many bytes takes no more: what is behind it need not wait for all of it to be written. */
const FULL_PACKET_BYTES = 4 * 1024 * 1024;

/** What waits for an answer. */
export interface Pending {
  /** Takes its answer out of the packet and settles. */
  settle(reader: BinaryReader): void;
  reject(error: StateError): void;
}

/** Calls of one sort on their way: packed, sent, answered, each in the order of the calls. */
export class PendingCalls {
  readonly #writer = new BinaryWriter();
  /** Full packets that are still to be sent. */
  readonly #full: { readonly bytes: Uint8Array; readonly calls: number }[] = [];
  /** How many of those pending are sent. */
  #sent = 0;
  /** The oldest first. */
  readonly pending: Pending[] = [];

  /** Whether nothing is packed, sent or awaited. */
  get isIdle(): boolean {
    return this.pending.length === 0;
  }

  /** How many calls are packed and not sent. */
  get packed(): number {
    return this.pending.length - this.#sent;
  }

  /** Where to pack the next call. */
  writer(): BinaryWriter {
    if (this.#writer.length >= FULL_PACKET_BYTES) this.#closePacket();
    return this.#writer;
  }

  #closePacket(): void {
    const calls = this.packed - this.#full.reduce((sum, packet) => sum + packet.calls, 0);
    this.#full.push({ bytes: this.#writer.take(), calls });
  }

  /** What to send next, if anything. */
  next(): Uint8Array | undefined {
    if (this.#full.length === 0 && this.#writer.length > 0) this.#closePacket();
    const packet = this.#full.shift();
    this.#sent += packet?.calls ?? 0;
    return packet?.bytes;
  }

  /** Answers how many calls the answers were for. */
  settle(packet: Uint8Array): number {
    const reader = new BinaryReader(packet);
    let count = 0;
    for (; !reader.atEnd; count++) this.pending[count]?.settle(reader);
    this.pending.splice(0, count);
    this.#sent -= count;
    return count;
  }

  fail(error: StateError): void {
    for (const { reject } of this.pending.splice(0)) reject(error);
  }
}
