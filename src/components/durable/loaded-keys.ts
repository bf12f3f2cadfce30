/** Keys that scans leave out: of messages that are loaded and not settled. */
export class LoadedKeys {
  readonly #keys = new Set<string>();
  /** Keys settled during a scan, which may still return them. */
  readonly #settled = new Set<string>();
  /** Keys of messages that are being taken out of the queue. */
  readonly #withheld = new Set<string>();
  #isScanning = false;

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  /** Whether a message that was loaded may be handed out: it has not been taken out of the queue. */
  isThere(key: string): boolean {
    return this.#keys.has(key) && !this.#settled.has(key) && !this.#withheld.has(key);
  }

  /** A message is being taken out of the queue. */
  withhold(key: string): void {
    this.#keys.add(key);
    this.#withheld.add(key);
  }

  add(key: string): void {
    this.#keys.add(key);
  }

  /** The message is no longer in the store under this key. */
  forget(key: string): void {
    this.#withheld.delete(key);
    if (this.#isScanning) this.#settled.add(key);
    else this.#keys.delete(key);
  }

  beginScan(): void {
    this.#isScanning = true;
  }

  endScan(): void {
    this.#isScanning = false;
    for (const key of this.#settled) this.#keys.delete(key);
    this.#settled.clear();
  }

  clear(): void {
    this.#keys.clear();
    this.#settled.clear();
    this.#withheld.clear();
  }
}
