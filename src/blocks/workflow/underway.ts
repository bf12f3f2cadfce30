import type { WorkflowsHost } from './workflows-host.ts';

/** Counts turns and activities that are under way. Noted as one piece of work: there are thousands a second. */
export class Underway {
  readonly #work: WorkflowsHost['work'];
  #count = 0;
  #done: () => void = () => undefined;

  constructor(work: WorkflowsHost['work']) {
    this.#work = work;
  }

  add(): void {
    if (this.#count++ === 0) this.#done = this.#work.begin('turns and activities of workflows');
  }

  remove(count = 1): void {
    if (count === 0) return;
    this.#count -= count;
    if (this.#count === 0) this.#done();
  }
}
