import { type FileHandle, open } from 'node:fs/promises';

const BYTES = Buffer.alloc(4096, 1);
const EVERY_MS = 100;

/** Measures what the disk itself takes: ten times a second it writes 4 KiB to a file and flushes it. */
export class DiskProbe {
  readonly #file: FileHandle;
  readonly #timer: NodeJS.Timeout;
  #ms: number[] = [];
  #measuring: Promise<void> | undefined;

  private constructor(file: FileHandle) {
    this.#file = file;
    this.#timer = setInterval(() => {
      this.#measuring ??= this.#measure();
    }, EVERY_MS);
  }

  static async start(path: string): Promise<DiskProbe> {
    return new DiskProbe(await open(path, 'w'));
  }

  async #measure(): Promise<void> {
    const begin = performance.now();
    await this.#file.write(BYTES, 0, BYTES.length, 0);
    await this.#file.datasync();
    this.#ms.push(performance.now() - begin);
    this.#measuring = undefined;
  }

  /** The times since the last call, in milliseconds. */
  take(): readonly number[] {
    const taken = this.#ms;
    this.#ms = [];
    return taken;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#measuring;
    await this.#file.close();
  }
}
