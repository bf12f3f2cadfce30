import { keyAfter } from '../../state/keys.ts';

/** Sorts after every key. */
const NONE = '\uffff';

/**
 * Where the next scan of a queue begins. The numbers of several publishing hosts overlap: while a scan reads on to a
 * higher number of one host, another host may write a lower one, behind it.
 */
export class ReadPosition {
  #key = '';
  /** The lowest key that a running scan may have passed before its message was written. */
  #missable = NONE;

  /** The key; empty for the first of the queue. */
  get key(): string {
    return this.#key;
  }

  /** Goes back to a key under which there may be a message, unless it lies before it. */
  goBackTo(key: string): void {
    if (key < this.#key) this.#key = key;
    if (key < this.#missable) this.#missable = key;
  }

  /** The message with this key needs no scan. */
  goPast(key: string): void {
    this.#key = keyAfter(key);
  }

  beginScan(): void {
    this.#missable = NONE;
  }

  /** Goes past the last key that was read, if there was one. Returns whether the scan can have missed nothing. */
  endScan(last: string | undefined): boolean {
    if (last !== undefined) this.goPast(last);
    const hasAll = this.#missable === NONE;
    this.goBackTo(this.#missable);
    return hasAll;
  }
}
