import { setImmediate as nextTurn } from 'node:timers/promises';

/** Errors that nobody handles, from now on: each would end a process. */
export class Unhandled implements Disposable {
  readonly #errors: unknown[] = [];
  readonly #keep = (error: unknown): void => void this.#errors.push(error);

  constructor() {
    process.on('uncaughtException', this.#keep).on('unhandledRejection', this.#keep);
  }

  /** Those so far; Node tells of a rejection at the end of the turn. */
  async errors(): Promise<readonly unknown[]> {
    await nextTurn();
    return this.#errors;
  }

  [Symbol.dispose](): void {
    process.off('uncaughtException', this.#keep).off('unhandledRejection', this.#keep);
  }
}
