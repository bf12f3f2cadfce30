import type { Sending } from '../operations/send.ts';
import type { HostLane } from './host-lane.ts';

/** Work that goes through the store: an event, or the start of an instance. */
export type Passing = Pick<Sending, 'event'> | { readonly start: () => Promise<unknown> };

interface Starting extends Omit<Sending, 'event'> {
  readonly start: () => Promise<unknown>;
}

type WaitingWork = (Sending | Starting) & { readonly length: number };

/** A group of events that go through the store together ends with the one that reaches one of these. */
const MAX_GROUP = 256;
const MAX_GROUP_LENGTH = 4 * 1024 * 1024;

/** The ways of work beside the lane to another host: what comes later may only go the same way, or must wait. */
export const UNDECIDED: unique symbol = Symbol('undecided');
export const THROUGH_STORE: unique symbol = Symbol('through the store');

/**
 * The work of this host at one instance that is not done yet, in the order in which it was asked for. Work may begin
 * beside earlier work that goes the same way, which keeps the order: here, or by a lane. Otherwise it waits for all of
 * it, and then goes through the store, as does all that comes later until the line is empty.
 */
export class InstanceLine {
  /** How the last work goes: a symbol, or a lane to another host; `undefined` while there is none. */
  way: HostLane | symbol | undefined;
  #count = 0;
  #begun: Promise<unknown> | undefined;
  /** Resolves when the work that went here, or by a lane, is done. */
  #direct: Promise<unknown> | undefined;
  #redone: Promise<unknown> | undefined;
  readonly #waiting: WaitingWork[] = [];
  #isPassing = false;
  readonly #send: (events: readonly Sending[]) => Promise<void>;

  /** @param send - sends events through the store, tells each caller, and never rejects */
  constructor(send: (events: readonly Sending[]) => Promise<void>) {
    this.#send = send;
  }

  enter(): void {
    this.#count++;
  }

  /** Answers whether the line is empty now. */
  leave(): boolean {
    return --this.#count === 0;
  }

  /** Decides about work once it is decided about all earlier work. */
  begin<T>(decide: () => Promise<T>): Promise<T> {
    this.way ??= UNDECIDED;
    const begun = this.#begun === undefined ? decide() : this.#begun.then(decide, decide);
    this.#begun = begun;
    return begun;
  }

  /** Notes work that has begun here, or by a lane. */
  direct<T>(work: Promise<T>): Promise<T> {
    this.#direct = bothDone(this.#direct, work);
    return work;
  }

  /** Resolves when the work that has gone here, or by a lane, until now is done. */
  get earlier(): Promise<unknown> | undefined {
    return this.#direct;
  }

  /**
   * Does work through the store that has failed on its way, one after the other. `earlier` is what went before it: a host
   * that gives the instance away may refuse a call while it still tries the one before.
   */
  async redo(work: () => Promise<void>, earlier: Promise<unknown> | undefined): Promise<void> {
    this.way = THROUGH_STORE;
    if (earlier !== undefined) await earlier;
    const redone = this.#redone === undefined ? work() : this.#redone.then(work, work);
    this.#redone = redone;
    return await redone;
  }

  /** Does work through the store, after all that has gone another way. */
  async pass(passing: Passing, length: number): Promise<void> {
    this.way = THROUGH_STORE;
    if (this.#direct !== undefined) await this.#direct;
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ ...passing, length, resolve, reject });
      if (!this.#isPassing) void this.#passAll();
    });
  }

  async #passAll(): Promise<void> {
    this.#isPassing = true;
    while (this.#waiting.length > 0) await this.#passNext();
    this.#isPassing = false;
  }

  async #passNext(): Promise<void> {
    const [first] = this.#waiting;
    if (first === undefined || 'event' in first) return this.#send(this.#takeEvents());
    this.#waiting.shift();
    await first.start().then(() => first.resolve(), first.reject);
  }

  #takeEvents(): readonly Sending[] {
    let [count, length] = [0, 0];
    for (const one of this.#waiting) {
      if (!('event' in one) || count === MAX_GROUP || length >= MAX_GROUP_LENGTH) break;
      count++;
      length += one.length;
    }
    return this.#waiting.splice(0, count).filter((one) => 'event' in one);
  }
}

async function bothDone(earlier: Promise<unknown> | undefined, work: Promise<unknown>): Promise<void> {
  await work.catch(() => undefined);
  await earlier;
}
