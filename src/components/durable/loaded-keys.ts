/** Keys that scans leave out: of messages that are loaded and not settled. */
export class LoadedKeys {
  readonly #keys = new Set<string>();
  /** Keys settled during a scan, which may still return them. */
  #settled: string[] = [];
  #isScanning = false;

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  add(key: string): void {
    this.#keys.add(key);
  }

  /** The message is no longer in the store under this key. */
  forget(key: string): void {
    if (this.#isScanning) this.#settled.push(key);
    else this.#keys.delete(key);
  }

  beginScan(): void {
    this.#isScanning = true;
  }

  endScan(): void {
    this.#isScanning = false;
    for (const key of this.#settled.splice(0)) this.#keys.delete(key);
  }

  clear(): void {
    this.#keys.clear();
    this.#settled = [];
  }
}
