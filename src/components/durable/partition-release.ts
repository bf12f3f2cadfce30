import { NO_PARTITIONS } from './spread.ts';

/** The queue, as the release of partitions needs it. */
export interface ReleasingQueue {
  /** Resolves when nothing of partitions that leave is in flight, or it takes too long. */
  release(cancelled: AbortSignal, hasLimit: boolean): Promise<void>;
  /** Other partitions are this host's than before: their messages are read again. */
  repartition(): void;
}

interface Release {
  readonly partitions: ReadonlySet<number>;
  readonly cancel: AbortController;
  isDone: boolean;
  done: Promise<void> | undefined;
}

/** The partitions that this host gives away: it hands out none of their messages, and waits for those in flight. */
export class PartitionRelease {
  readonly #onDone: () => void;
  #release: Release | undefined;

  constructor(onDone: () => void) {
    this.#onDone = onDone;
  }

  /** Whether messages of a partition are not handed out any more. */
  has(partition: number): boolean {
    return this.#release?.partitions.has(partition) === true;
  }

  get isUnderWay(): boolean {
    return this.#release !== undefined;
  }

  /** Resolves when it is done; `undefined` if there is none. */
  get done(): Promise<void> | undefined {
    return this.#release?.done;
  }

  /** The partitions of which nothing is in flight any more. */
  get released(): ReadonlySet<number> {
    return this.#release?.isDone === true ? this.#release.partitions : NO_PARTITIONS;
  }

  /** Begins to release partitions, unless others are being released; ends a release that nobody needs any more. */
  update(leaving: ReadonlySet<number>, queue: ReleasingQueue, hasLimit: boolean): void {
    if (this.#release !== undefined && !meet(this.#release.partitions, leaving)) this.#end(queue);
    if (this.#release !== undefined || leaving.size === 0) return;
    const cancel = new AbortController();
    const release: Release = { partitions: leaving, cancel, isDone: false, done: undefined };
    // The queue asks for it at once.
    this.#release = release;
    release.done = queue.release(cancel.signal, hasLimit).then(() => {
      if (this.#release !== release) return;
      release.isDone = true;
      this.#onDone();
    });
  }

  /** Forgets what was released, if nothing of it is among the partitions of this host any more. */
  forget(part: ReadonlySet<number>): void {
    if (this.#release?.isDone === true && !meet(this.#release.partitions, part)) this.#release = undefined;
  }

  /** Nobody needs the release any more: what is still here is handed out again. */
  #end(queue: ReleasingQueue): void {
    const release = this.#release;
    if (release === undefined) return;
    this.#release = undefined;
    release.cancel.abort();
    queue.repartition();
  }
}

function meet(one: ReadonlySet<number>, other: ReadonlySet<number>): boolean {
  for (const partition of one) if (other.has(partition)) return true;
  return false;
}
