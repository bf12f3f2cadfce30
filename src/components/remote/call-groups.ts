import { setImmediate } from '../../util/timers.ts';

// Captured at import, as the timers are: tests replace it.
const { nextTick } = process;

/** The dependencies of {@link CallGroups}. */
export interface CallGroupsDeps<Call, Answer> {
  /** Makes several calls in one. An error in place of an answer is that of one call; a rejection that of all. */
  readonly send: (calls: readonly Call[]) => Promise<readonly (Answer | Error)[]>;
  /** The size of a call. A group ends with the call that reaches `maxSize`. */
  readonly sizeOf: (call: Call) => number;
  readonly maxSize: number;
  /** How many groups may be under way: those that wait meanwhile form the next group. */
  readonly maxUnderWay: number;
  /**
   * The keys of a call: no two calls of a group, or of groups under way, have one in common, and calls with one are made
   * in their order. Default: they may.
   */
  readonly keysOf?: (call: Call) => readonly string[];
}

const NO_KEYS: readonly string[] = [];

interface Waiting<Call, Answer> {
  readonly call: Call;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** Makes the calls of one turn of the event loop together: one round trip, and one sync of a server that syncs. */
export class CallGroups<Call, Answer> {
  readonly #deps: CallGroupsDeps<Call, Answer>;
  #waiting: Waiting<Call, Answer>[] = [];
  #underWay = 0;
  readonly #keysUnderWay = new Set<string>();
  #lastCount = 1;
  #isScheduled = false;
  #onIdle: (() => void)[] = [];

  constructor(deps: CallGroupsDeps<Call, Answer>) {
    this.#deps = deps;
  }

  add(call: Call): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const send = (): void => {
      this.#isScheduled = false;
      while (this.#waiting.length > 0 && this.#underWay < this.#deps.maxUnderWay) {
        const group = this.#next();
        // All of them wait for a key.
        if (group.length === 0) return;
        this.#lastCount = group.length;
        void this.#send(group);
      }
    };
    // A caller that was alone the last time as well would wait for nobody.
    if (this.#underWay === 0 && this.#lastCount === 1) nextTick(send);
    else setImmediate(send);
  }

  /** The calls of the next group, in order. Those that have to wait for a key stay, and later ones may overtake them. */
  #next(): readonly Waiting<Call, Answer>[] {
    const { sizeOf, maxSize, keysOf } = this.#deps;
    const group: Waiting<Call, Answer>[] = [];
    const left: Waiting<Call, Answer>[] = [];
    /** The keys of the group, and those of calls that wait for a key themselves. */
    const taken = new Set<string>();
    let at = 0;
    for (let size = 0; at < this.#waiting.length && size < maxSize; at++) {
      const waiting = this.#waiting[at] as Waiting<Call, Answer>;
      const keys = keysOf?.(waiting.call) ?? NO_KEYS;
      const mustWait = keys.some((key) => taken.has(key) || this.#keysUnderWay.has(key));
      for (const key of keys) taken.add(key);
      (mustWait ? left : group).push(waiting);
      if (!mustWait) size += sizeOf(waiting.call);
    }
    this.#waiting = left.length === 0 ? this.#waiting.slice(at) : [...left, ...this.#waiting.slice(at)];
    return group;
  }

  async #send(group: readonly Waiting<Call, Answer>[]): Promise<void> {
    const { keysOf } = this.#deps;
    const keys = keysOf === undefined ? NO_KEYS : group.flatMap(({ call }) => keysOf(call));
    this.#underWay++;
    for (const key of keys) this.#keysUnderWay.add(key);
    try {
      const answers = await this.#deps.send(group.map(({ call }) => call));
      for (const [index, { resolve, reject }] of group.entries()) {
        const answer = answers[index];
        if (answer instanceof Error) reject(answer);
        // The cast is safe: there is an answer for each call.
        else resolve(answer as Answer);
      }
    } catch (error) {
      for (const { reject } of group) reject(error as Error);
    } finally {
      this.#underWay--;
      for (const key of keys) this.#keysUnderWay.delete(key);
      if (this.#waiting.length > 0) this.#schedule();
      else if (this.#underWay === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
    }
  }

  /** Whether no call waits or is under way. */
  get isIdle(): boolean {
    return this.#underWay === 0 && this.#waiting.length === 0;
  }

  /** Resolves when no call is under way. */
  idle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }
}
