import type { StateError } from '../../state/errors.ts';
import { BinaryReader, BinaryWriter } from './binary-codec.ts';

/** Size at which a packet is full: calls after it need not wait until all of it is written. */
const FULL_PACKET_BYTES = 4 * 1024 * 1024;

/** A call that waits for its reply. */
export interface ThreadCall {
  /** Reads its reply from the packet and settles. */
  settle(reader: BinaryReader): void;
  reject(error: StateError): void;
}

/** Calls of one kind in progress: packed, sent and answered in the order of the calls. */
export class PendingCalls {
  readonly #writer = new BinaryWriter();
  /** Full packets that are not yet sent. */
  readonly #full: { readonly bytes: Uint8Array; readonly calls: number }[] = [];
  /** The number of pending calls that are sent. */
  #sent = 0;
  /** The oldest first. */
  readonly pending: ThreadCall[] = [];

  /** Whether there are no pending calls. */
  get isIdle(): boolean {
    return this.pending.length === 0;
  }

  /** The number of calls packed but not sent. */
  get packed(): number {
    return this.pending.length - this.#sent;
  }

  /** Whether the calls that are packed and not sent take at least so many bytes. */
  hasPacked(bytes: number): boolean {
    return this.#full.length > 0 || this.#writer.length >= bytes;
  }

  /** The writer for the next call. */
  writer(): BinaryWriter {
    if (this.#writer.length >= FULL_PACKET_BYTES) this.#closePacket();
    return this.#writer;
  }

  #closePacket(): void {
    const calls = this.packed - this.#full.reduce((sum, packet) => sum + packet.calls, 0);
    this.#full.push({ bytes: this.#writer.take(), calls });
  }

  /** The next packet to send, if any. */
  next(): Uint8Array | undefined {
    if (this.#full.length === 0 && this.#writer.length > 0) this.#closePacket();
    const packet = this.#full.shift();
    this.#sent += packet?.calls ?? 0;
    return packet?.bytes;
  }

  /** Settles calls with a packet of replies. */
  settle(packet: Uint8Array): void {
    const reader = new BinaryReader(packet);
    let count = 0;
    for (; !reader.atEnd; count++) this.pending[count]?.settle(reader);
    this.pending.splice(0, count);
    this.#sent -= count;
  }

  fail(error: StateError): void {
    for (const { reject } of this.pending.splice(0)) reject(error);
  }
}
