import { type Link, Linked } from '../../util/linked.ts';
import { clearTimeout, setTimeout } from '../../util/timers.ts';

/** A call that must end in time. */
export interface Deadline {
  /** Whether the time is over: what was not sent yet must not be sent any more. */
  readonly isOver: boolean;
}

interface PendingDeadline {
  readonly at: number;
  link: Link<PendingDeadline> | undefined;
  isOver: boolean;
  readonly reject: (error: Error) => void;
}

/** One time limit for many calls, with one timer for all of them. In real time. */
export class Deadlines {
  readonly #limitMs: number;
  readonly #makeError: (limitMs: number) => Error;
  readonly #pending = new Linked<PendingDeadline>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number, makeError: (limitMs: number) => Error) {
    this.#limitMs = limitMs;
    this.#makeError = makeError;
  }

  /** Rejects if the work is not done in time. */
  limit<T>(work: (deadline: Deadline) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const pending: PendingDeadline = {
        at: performance.now() + this.#limitMs,
        link: undefined,
        isOver: false,
        reject,
      };
      pending.link = this.#pending.add(pending);
      this.#timer ??= setTimeout(() => this.#failOverdue(), this.#limitMs);
      const end = (): void => this.#remove(pending);
      work(pending).then(
        (value) => {
          end();
          resolve(value);
        },
        (error: unknown) => {
          end();
          reject(error as Error);
        },
      );
    });
  }

  /** All calls have the same limit, so they end in the order in which they began. */
  #failOverdue(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const pending of [...this.#pending]) {
      if (pending.at > now + 1) {
        this.#timer ??= setTimeout(() => this.#failOverdue(), pending.at - now);
        return;
      }
      pending.isOver = true;
      this.#remove(pending);
      pending.reject(this.#makeError(this.#limitMs));
    }
  }

  #remove({ link }: PendingDeadline): void {
    if (link !== undefined && this.#pending.delete(link) && this.#pending.size === 0) this.close();
  }

  /** Stops the timer. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
