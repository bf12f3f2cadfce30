import type { Engine } from '../engine/engine.ts';
import type { InstanceView } from '../model/instance.ts';
import type { WaitOptions } from '../operations/completions.ts';
import { doHere } from '../operations/operations.ts';
import {
  type AwaitedStatus,
  type CallBatch,
  type CallOutcome,
  DONE,
  type ForwardedCall,
  type ForwardedWait,
  type HostPeer,
  NOT_DONE,
  UNSURE,
  type WaitAnswer,
} from './call.ts';
import type { Receipts } from './receipts.ts';
import { refusalOf } from './refusal.ts';

// Captured at load time, because tests replace the global function with fake timers.
const { setImmediate } = globalThis;

/** Max duration of a request. Callers repeat it, so that waits of vanished callers end. */
const MAX_WAIT_MS = 10_000;

/** The dependencies of {@link InboundCalls}. */
export interface InboundCallsDeps {
  readonly engine: Engine;
  readonly receipts: Receipts;
  /** Throws when no calls are accepted. */
  readonly admit: () => void;
  /** Waits for an instance of this host; rejects when another host owns it. */
  readonly waitHere: (id: string, until: AwaitedStatus, options: WaitOptions) => Promise<InstanceView>;
}

/** Handles calls and waits of other hosts of the application for instances of this one. */
export class InboundCalls implements HostPeer {
  readonly #deps: InboundCallsDeps;
  readonly #waits = new Set<AnsweredWaits>();
  readonly #underWay = new Set<string>();
  #isStopping = false;

  constructor(deps: InboundCallsDeps) {
    this.#deps = deps;
  }

  call({ calls, answered }: CallBatch): Promise<readonly CallOutcome[]> {
    this.#deps.receipts.release(answered);
    // Start all at once, so that calls for one instance arrive in order.
    return Promise.all(calls.map((call) => this.#do(call)));
  }

  async #do({ key, instanceId, work }: ForwardedCall): Promise<CallOutcome> {
    const { engine, receipts } = this.#deps;
    const receipt = engine.store.layout.receipt(instanceId, key);
    if (!this.#isOpen) return NOT_DONE;
    // A turn can write a receipt only once.
    if (this.#underWay.has(key)) return UNSURE;
    this.#underWay.add(key);
    try {
      if (!(await doHere(engine, instanceId, { work, receipt }))) return NOT_DONE;
      receipts.add(key, receipt);
      return DONE;
    } catch (error) {
      return refusalOf(error) ?? UNSURE;
    } finally {
      this.#underWay.delete(key);
    }
  }

  get #isOpen(): boolean {
    try {
      this.#deps.admit();
      return !this.#isStopping;
    } catch {
      return false;
    }
  }

  async *wait(waits: readonly ForwardedWait[], signal: AbortSignal): AsyncIterable<readonly WaitAnswer[]> {
    const { engine, waitHere } = this.#deps;
    if (!this.#isOpen) return yield waits.map((_wait, index) => ({ index }));
    const answers = new AnsweredWaits(waits.length);
    const timer = engine.host.clock.setTimeout(() => answers.end(), MAX_WAIT_MS);
    const onAbort = (): void => answers.end();
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waits.add(answers);
    waits.forEach(({ instanceId, until }, index) => {
      const { signal: left } = answers.leaving();
      waitHere(instanceId, until, { signal: left }).then(
        (view) => answers.add({ index, view }),
        // The instance is not on this host, or the wait has ended.
        () => left.aborted || answers.add({ index }),
      );
    });
    try {
      if (!signal.aborted) yield* answers.all();
    } finally {
      this.#waits.delete(answers);
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      answers.end();
    }
  }

  /** Accepts no more calls, and ends all waits, so that waiters turn to another host. */
  stop(): void {
    this.#isStopping = true;
    for (const answers of this.#waits) answers.end();
  }
}

/** Answers to waits, in the order in which they come. */
class AnsweredWaits {
  readonly #leaving: AbortController[] = [];
  #ready: WaitAnswer[] = [];
  #open: number;
  #isOver = false;
  #wake: () => void = () => undefined;

  constructor(count: number) {
    this.#open = count;
  }

  /** The controller that ends one wait: a single signal for all would have too many listeners. */
  leaving(): AbortController {
    const controller = new AbortController();
    this.#leaving.push(controller);
    return controller;
  }

  add(answer: WaitAnswer): void {
    this.#open--;
    this.#ready.push(answer);
    this.#wake();
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const controller of this.#leaving) controller.abort(new Error('nobody waits any more'));
    this.#wake();
  }

  async *all(): AsyncGenerator<readonly WaitAnswer[]> {
    for (;;) {
      const ready = this.#ready;
      this.#ready = [];
      if (ready.length > 0) yield ready;
      if (this.#ready.length > 0) continue;
      if (this.#open === 0 || this.#isOver) return;
      await new Promise<void>((resolve) => {
        // A commit ends many: their answers go together.
        this.#wake = () => setImmediate(resolve);
      });
    }
  }
}
