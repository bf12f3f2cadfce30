import { clearTimeout, setTimeout } from '../../util/timers.ts';

interface Pull {
  left: number;
  readonly timer: NodeJS.Timeout;
}

/** The requests for messages that the server has not yet fulfilled. */
export class Pulls {
  readonly #limitMs: number;
  readonly #onEnd: () => void;
  /** By the inbox of each; the server fulfils them in this order. */
  readonly #open = new Map<string, Pull>();
  #outstanding = 0;
  #idle: (() => void)[] = [];

  /**
   * @param limitMs - when a request has ended, even if the server does not say so
   * @param onEnd - called when a request has ended
   */
  constructor(limitMs: number, onEnd: () => void) {
    this.#limitMs = limitMs;
    this.#onEnd = onEnd;
  }

  /** The number of messages that may still come. */
  get outstanding(): number {
    return this.#outstanding;
  }

  add(inbox: string, batch: number): void {
    const timer = setTimeout(() => this.end(inbox), this.#limitMs);
    this.#open.set(inbox, { left: batch, timer });
    this.#outstanding += batch;
  }

  /** A message has come. */
  count(): void {
    for (const [inbox, pull] of this.#open) {
      pull.left--;
      this.#outstanding--;
      if (pull.left === 0) this.end(inbox);
      return;
    }
  }

  /** The server has ended a request. */
  end(inbox: string): void {
    const pull = this.#open.get(inbox);
    if (pull === undefined) return;
    this.#open.delete(inbox);
    this.#outstanding -= pull.left;
    clearTimeout(pull.timer);
    this.#onEnd();
    if (this.#open.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** All requests are gone with their connection. */
  clear(): void {
    for (const inbox of [...this.#open.keys()]) this.end(inbox);
  }

  /** Resolves once there is no request. */
  idle(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }
}
