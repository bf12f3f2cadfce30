import { expect } from 'vitest';
import { Sidecar, type SidecarOptions } from '../../src/index.ts';
import { KeptStore } from './kept-store.ts';
import { RecordingLogger } from './logger.ts';

/** A process, as far as its state can tell. */
export interface LifeOfProcess {
  readonly sidecar: Sidecar;
  /** From 1. */
  readonly number: number;
  readonly logger: RecordingLogger;
  /** How many commits it has made for jobs and workflows. */
  readonly commits: number;
}

/** Processes that use one store, one after the other. Each is killed by the next one: it writes nothing any more. */
export class Lives {
  readonly #prepare: (life: LifeOfProcess) => void;
  readonly #options: Partial<SidecarOptions>;
  #store = new KeptStore();
  #number = 0;

  /** @param prepare - what the program does before it starts its sidecar */
  constructor(prepare: (life: LifeOfProcess) => void, options: Partial<SidecarOptions> = {}) {
    this.#prepare = prepare;
    this.#options = options;
  }

  /** Kills the process, if there is one, and begins the next. */
  async next(): Promise<LifeOfProcess> {
    this.kill();
    const store = new KeptStore(this.#store.memory);
    this.#store = store;
    const logger = new RecordingLogger();
    let commits = 0;
    store.interfere = ({ put = [], delete: remove = [] }, commit) => {
      if ([...put.map(({ key }) => key), ...remove].some((key) => /^(jobs|workflows)!/.test(key))) commits++;
      return commit();
    };
    const life = {
      sidecar: new Sidecar({ appId: 'shop', state: store, logger, ...this.#options }),
      number: ++this.#number,
      logger,
      get commits() {
        return commits;
      },
    };
    this.#prepare(life);
    await life.sidecar.start();
    return life;
  }

  kill(): void {
    this.#store.interfere = () => new Promise(() => undefined);
  }

  /** The keys that have a part, of what is stored. */
  async keys(part: string): Promise<readonly string[]> {
    const entries = await this.#store.memory.scan({ from: '' });
    return entries.map(({ key }) => key).filter((key) => key.includes(part));
  }
}

/** What ends the process does not return. */
export const forever = (): Promise<never> => new Promise(() => undefined);

/** Waits until a list has so many elements. */
export async function untilLength(list: readonly unknown[], length: number): Promise<void> {
  await expect.poll(() => list.length, { timeout: 20_000, interval: 5 }).toBe(length);
}
