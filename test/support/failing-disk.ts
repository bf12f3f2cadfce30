import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('./failing-disk.c', import.meta.url));
const MODES = { works: 0, syncsFail: 1, isFull: 2, syncsAreSlow: 3 } as const;

/** Whether a disk can be made to fail here: Linux with a C compiler. */
export function canFailDisk(): boolean {
  return process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;
}

/** The disk of processes that were started with {@link environment}, which can be full, slow or broken. */
export class FailingDisk {
  /** For the processes. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #control: number;

  private constructor(library: string, control: string) {
    this.environment = { LD_PRELOAD: library, FAILING_DISK: control };
    this.#control = openSync(control, 'w+');
    this.#set('works');
  }

  /** Builds it into a directory. */
  static build(directory: string): FailingDisk {
    const library = join(directory, 'failing-disk.so');
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, SOURCE, '-ldl']);
    return new FailingDisk(library, join(directory, 'failing-disk.control'));
  }

  #set(mode: keyof typeof MODES, ms = 0): void {
    writeSync(this.#control, Buffer.from(Int32Array.of(MODES[mode], ms).buffer), 0, 8, 0);
  }

  /** All is well again. */
  heal(): void {
    this.#set('works');
  }

  /** Nothing can be written. */
  fill(): void {
    this.#set('isFull');
  }

  /** Syncs fail: nobody knows what of the data is on disk. */
  breakSyncs(): void {
    this.#set('syncsFail');
  }

  /** Each sync takes so much longer. */
  slowDown(ms: number): void {
    this.#set('syncsAreSlow', ms);
  }

  close(): void {
    closeSync(this.#control);
  }
}
