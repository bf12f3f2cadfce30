import type { WorkflowsDeps } from './workflows-deps.ts';

/** Counts turns and activities in flight. Registers one work item for all, since there are thousands a second. */
export class InFlightCounter {
  readonly #work: WorkflowsDeps['work'];
  readonly #named: () => readonly string[];
  #count = 0;
  #done: () => void = () => undefined;

  /** @param activities - describes the running activities */
  constructor(work: WorkflowsDeps['work'], activities: () => readonly string[]) {
    this.#work = work;
    this.#named = () => {
      const named = activities();
      return named.length > 0 ? named : ['turns of workflows'];
    };
  }

  add(): void {
    if (this.#count++ === 0) this.#done = this.#work.begin(this.#named);
  }

  remove(count = 1): void {
    if (count === 0) return;
    this.#count -= count;
    if (this.#count === 0) this.#done();
  }
}
