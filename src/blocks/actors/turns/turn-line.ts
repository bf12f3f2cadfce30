import type { CancelToken } from '../../../util/cancel-token.ts';
import { type Link, Linked } from '../../../util/linked.ts';

/** A call that waits for its turn. */
interface Waiting {
  readonly chain: string | undefined;
  readonly enter: () => void;
  readonly refuse: (error: unknown) => void;
  place: Link<Waiting> | undefined;
}

/** The rules of a {@link TurnLine}. */
export interface TurnLineRules {
  /** How many calls of one chain may be in the actor; `undefined` for a type without reentrancy. */
  readonly maxStackDepth: number | undefined;
  readonly maxWaiting: number;
  readonly tooDeep: () => Error;
  readonly tooManyWaiting: () => Error;
}

/**
 * The turns of one actor: one call at a time, in the order in which they came. With reentrancy, a call of the chain that
 * has the turn enters at once, and the turn lasts until the whole chain has left. A turn ends with `leave` only, never
 * because its caller has gone: that only removes a call that waits.
 */
export class TurnLine {
  readonly #rules: TurnLineRules;
  readonly #waiting = new Linked<Waiting>();
  #holder: string | undefined;
  #inside = 0;
  #onFree: (() => void)[] = [];

  constructor(rules: TurnLineRules) {
    this.#rules = rules;
  }

  /** How many calls are in the actor. */
  get inside(): number {
    return this.#inside;
  }

  /** How many calls wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Whether nobody is in, or waits. */
  get isFree(): boolean {
    return this.#inside === 0 && this.#waiting.size === 0;
  }

  /** Has the call begin its turn, if it need not wait: `leave` ends it. @throws the error of a chain that is too deep */
  tryEnter(chain: string | undefined): boolean {
    if (this.#inside === 0) {
      this.#holder = chain;
      this.#inside = 1;
      return true;
    }
    if (!this.#belongs(chain)) return false;
    const { maxStackDepth = 0, tooDeep } = this.#rules;
    if (this.#inside >= maxStackDepth) throw tooDeep();
    this.#inside++;
    return true;
  }

  /** Resolves when the call has its turn, behind those that wait. Rejects if it is cancelled, refused, or too deep. */
  enter(chain: string | undefined, cancel: CancelToken): Promise<void> {
    const { maxWaiting, tooManyWaiting } = this.#rules;
    if (cancel.aborted) return Promise.reject(cancel.reason as Error);
    if (this.#waiting.size >= maxWaiting) return Promise.reject(tooManyWaiting());
    return new Promise((resolve, reject) => {
      const refuse = (error: unknown): void => {
        unsubscribe();
        reject(error as Error);
      };
      const enter = (): void => {
        unsubscribe();
        resolve();
      };
      const waiting: Waiting = { chain, enter, refuse, place: undefined };
      waiting.place = this.#waiting.add(waiting);
      const unsubscribe = cancel.onAbort(() => {
        if (this.#remove(waiting)) reject(cancel.reason as Error);
      });
    });
  }

  /** Whether a call belongs to the chain that has the turn now, so that it enters at once. */
  holds(chain: string | undefined): boolean {
    return this.#inside > 0 && this.#belongs(chain);
  }

  #belongs(chain: string | undefined): boolean {
    return this.#rules.maxStackDepth !== undefined && chain !== undefined && chain === this.#holder;
  }

  /** A call has ended. The next chain enters when the last one of the present chain has left. */
  leave(): void {
    this.#inside--;
    if (this.#inside > 0) return;
    const [next] = this.#waiting;
    if (next === undefined) return this.#tellIfFree();
    this.#remove(next);
    this.#holder = next.chain;
    this.#inside = 1;
    next.enter();
    if (this.#rules.maxStackDepth !== undefined && this.#waiting.size > 0) this.#admitChain();
  }

  /** Calls of the chain that has got the turn need not wait any more. */
  #admitChain(): void {
    for (const waiting of [...this.#waiting]) {
      if (!this.#belongs(waiting.chain)) continue;
      this.#remove(waiting);
      try {
        this.tryEnter(waiting.chain);
        waiting.enter();
      } catch (error) {
        waiting.refuse(error);
      }
    }
  }

  #remove({ place }: Waiting): boolean {
    return place !== undefined && this.#waiting.delete(place);
  }

  /** Refuses all calls that wait. */
  refuse(error: unknown): void {
    for (const { refuse } of this.#waiting.take()) refuse(error);
    this.#tellIfFree();
  }

  /** Resolves when nobody is in, and nobody waits. */
  whenFree(): Promise<void> {
    if (this.isFree) return Promise.resolve();
    return new Promise((resolve) => this.#onFree.push(resolve));
  }

  #tellIfFree(): void {
    if (!this.isFree || this.#onFree.length === 0) return;
    for (const resolve of this.#onFree.splice(0)) resolve();
  }
}
