import type { Clock, Timer } from './clock.ts';
import { setGracePeriod } from './grace-period.ts';
import { type Link, Linked } from './linked.ts';
import type { Logger } from './logger.ts';
import { outside } from './outside.ts';
import type { Work } from './work.ts';
import { atWorkElsewhere, enterWorkplace, leaveWorkplace, type Workplace } from './workplaces.ts';

/** A function without a timeout is reported once after running this long. */
const LONG_MS = 5 * 60_000;

const STILL_RUNNING = 'still counts as running until it returns';
const GIVEN_UP = 'counts as failed, even if it still runs';

/** Describes a call for the log. */
export type AboutCall = () => object;

/**
 * The running calls of functions in code. A function cannot be forced to return: when its time is over, its signal is
 * aborted. Its place stays taken until it returns, in all sidecars of the process, unless its caller gives it up
 * (`onTimeOut`). Every message passes here: one timer watches all calls without a timeout.
 */
export class CodeCalls {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #running = new Linked<CodeCall>();
  #watch: Timer | undefined;
  #ending: Error | undefined;
  /** The group that shares work; without it, no other sidecar works on the same items. Set it before the first call. */
  workplace: Workplace | undefined;
  #hasEntered = false;
  #isStopping = false;
  /** Waits for functions of other sidecars. */
  readonly #waiting = new Set<() => void>();

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }, workplace?: Workplace) {
    this.#clock = clock;
    this.#logger = logger;
    this.workplace = workplace;
  }

  /** The number of running calls. */
  get size(): number {
    return this.#running.size;
  }

  /** Whether a stop waits for calls: failures may be due to that, as the sidecar accepts nothing new meanwhile. */
  get areEnding(): boolean {
    return this.#isStopping;
  }

  /**
   * Records a call that works on `subject`; pass it to {@link CodeCalls.end} when the function has returned.
   * `timeLimitMs` of 0: no limit.
   */
  begin(subject: string, timeLimitMs: number, about: AboutCall): CodeCall {
    const call = new CodeCall(subject, this.#clock.now(), about);
    call.place = this.#running.add(call);
    if (!this.#hasEntered) this.#enter();
    if (this.#ending !== undefined) call.abort(this.#ending);
    else if (timeLimitMs > 0) call.limit = this.#clock.setTimeout(() => this.#timeOut(call, timeLimitMs), timeLimitMs);
    else this.#watch ??= this.#clock.setTimeout(() => this.#lookForLong(), LONG_MS);
    return call;
  }

  /** Ends a call. */
  end(call: CodeCall): void {
    const { place, limit } = call;
    limit?.cancel();
    if (place !== undefined) this.#running.delete(place);
    if (this.#running.size === 0) this.#idle();
    call.tellEnd();
  }

  /** The call that is working on `subject`. */
  find(subject: string): CodeCall | undefined {
    for (const call of this.#running) if (call.subject === subject) return call;
    return undefined;
  }

  /** The call of another sidecar in this process that is working on `subject`: a second one must not start. */
  elsewhere(subject: string): CodeCall | undefined {
    return this.workplace === undefined ? undefined : atWorkElsewhere(this.workplace, subject);
  }

  /** Waits for the end of another sidecar's call; returns whether calls may still start then. */
  async untilEnded(call: CodeCall): Promise<boolean> {
    if (this.#isStopping) return false;
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      call.onEnd(() => {
        this.#waiting.delete(resolve);
        resolve();
      });
    });
    return !this.#isStopping;
  }

  /** Waits until `work` is idle: half of the time undisturbed, then with all signals aborted. */
  async stop(work: Work, gracePeriodMs: number, reason: Error): Promise<void> {
    this.#isStopping = true;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
    const half = setGracePeriod(this.#clock, gracePeriodMs, () => this.#abort(reason), 0.5);
    await work.idle(this.#clock, gracePeriodMs);
    half.cancel();
    this.#abort(reason);
    this.#unwatch();
    if (this.#running.size === 0) this.#idle();
  }

  /** Waits for no call: those that run are not watched any more, so that no timer keeps the process. */
  abandon(): void {
    for (const call of [...this.#running]) this.end(call);
  }

  #enter(): void {
    this.#hasEntered = true;
    if (this.workplace !== undefined) enterWorkplace(this.workplace, this);
  }

  /** Once stopped and idle, other sidecars need not know about it. */
  #idle(): void {
    this.#unwatch();
    if (this.#ending === undefined || !this.#hasEntered) return;
    this.#hasEntered = false;
    if (this.workplace !== undefined) leaveWorkplace(this.workplace, this);
  }

  #abort(reason: Error): void {
    this.#ending ??= reason;
    for (const call of this.#running) call.abort(this.#ending);
  }

  #timeOut(call: CodeCall, timeLimitMs: number): void {
    const reason = new Error(`no result within ${timeLimitMs} ms`);
    call.abort(reason);
    this.#logger.warn(
      { ...call.about(), timeoutMs: timeLimitMs },
      `a function has not returned within its time-out: its signal has fired, and it ${call.onTimeOut === undefined ? STILL_RUNNING : GIVEN_UP}`,
    );
    call.overdue = reason;
    call.onTimeOut?.(reason);
  }

  /** Calls are in order of their start, the longest running first. */
  #lookForLong(): void {
    this.#watch = undefined;
    const now = this.#clock.now();
    for (const call of this.#running) {
      if (call.limit !== undefined || call.isKnownAsLong) continue;
      const leftMs = call.startedAt + LONG_MS - now;
      if (leftMs > 0) {
        this.#watch = this.#clock.setTimeout(() => this.#lookForLong(), leftMs);
        return;
      }
      call.isKnownAsLong = true;
      this.#logger.warn(
        { ...call.about(), runningMs: now - call.startedAt },
        'a function has not returned for five minutes: it counts as running until it does',
      );
    }
  }

  #unwatch(): void {
    this.#watch?.cancel();
    this.#watch = undefined;
  }
}

/** A running call. Its signal is created on first use: a controller takes a third of a delivery's time. */
export class CodeCall {
  /** The item it is working on. */
  readonly subject: string;
  readonly startedAt: number;
  readonly about: AboutCall;
  place: Link<CodeCall> | undefined;
  /** The timer of its timeout, if it has one. */
  limit: Timer | undefined;
  isKnownAsLong = false;
  /** Set by a caller that does not wait for the function any longer than its time-out. */
  onTimeOut: ((reason: Error) => void) | undefined;
  /** The error of its time-out, once that is over. */
  overdue: Error | undefined;
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #onEnd: (() => void)[] | undefined;

  constructor(subject: string, startedAt: number, about: AboutCall) {
    this.subject = subject;
    this.startedAt = startedAt;
    this.about = about;
    this.place = undefined;
    this.limit = undefined;
    this.onTimeOut = undefined;
    this.overdue = undefined;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#reason ??= reason;
    const controller = this.#controller;
    // The function's listeners are called outside of the context of the code that aborts it.
    if (controller !== undefined) outside(() => controller.abort(this.#reason));
  }

  /** Calls back when the function has returned. */
  onEnd(callback: () => void): void {
    this.#onEnd ??= [];
    this.#onEnd.push(callback);
  }

  tellEnd(): void {
    if (this.#onEnd === undefined) return;
    for (const callback of this.#onEnd.splice(0)) callback();
  }
}
