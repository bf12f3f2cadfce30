import type { Timer } from '../util/clock.ts';
import type { Expected } from '../util/expected.ts';
import type { ComponentContext } from './component.ts';

/**
 * Limits of the messages kept for applications whose subscriptions are not known yet: longer than most applications
 * take to start, and small compared with other memory use.
 */
export const STARTUP_LIMITS: { readonly messages: number; readonly bytes: number; readonly ms: number } = {
  messages: 10_000,
  bytes: 16 * 1024 * 1024,
  ms: 120_000,
};

export interface StartupPeriodDeps {
  readonly pubsubName: string;
  readonly expected: Expected;
  /** Called when all subscriptions are known or no longer awaited: no other groups will need the kept messages. */
  readonly onEnd: () => void;
}

/**
 * The period in which a component keeps published messages because the subscriptions of some applications are not known
 * yet. Limited in time and amount.
 */
export class StartupPeriod {
  readonly #deps: StartupPeriodDeps;
  readonly #listening: Disposable;
  /** Applications that are no longer awaited. */
  readonly #givenUp = new Set<string>();
  #isOpen = false;
  #messages = 0;
  #bytes = 0;
  #isFull = false;
  /** When the first message was kept. */
  #since: number | undefined;
  #timer: Timer | undefined;
  /** The context whose clock runs the timer. */
  #timedBy: ComponentContext | undefined;

  constructor(deps: StartupPeriodDeps) {
    this.#deps = deps;
    this.#listening = deps.expected.onChange(() => this.#update());
    this.#update();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Counts a message to be kept; returns whether there is room for it. */
  takes(bytes: number, context: ComponentContext): boolean {
    this.#limitTime(context);
    if (this.#messages >= STARTUP_LIMITS.messages || this.#bytes + bytes > STARTUP_LIMITS.bytes) {
      this.#tellFull(context);
      return false;
    }
    this.#messages++;
    this.#bytes += bytes;
    return true;
  }

  #limitTime(context: ComponentContext): void {
    if (this.#timer !== undefined) return;
    const now = context.clock.now();
    this.#since ??= now;
    this.#timedBy = context;
    this.#timer = context.clock.setTimeout(() => this.#giveUp(context), this.#since + STARTUP_LIMITS.ms - now);
  }

  /** A sidecar no longer uses the component: its clock must not be used any more. */
  left(context: ComponentContext): void {
    if (this.#timedBy === context) this.#stopTimer();
  }

  /** Ends the period when no sidecar uses the component: kept messages stay. */
  close(): void {
    this.#listening[Symbol.dispose]();
    this.#stopTimer();
    this.#isOpen = false;
  }

  get #awaited(): readonly string[] {
    return this.#deps.expected.names.filter((name) => !this.#givenUp.has(name));
  }

  #update(): void {
    const { names } = this.#deps.expected;
    for (const name of this.#givenUp) if (!names.includes(name)) this.#givenUp.delete(name);
    const isOpen = this.#awaited.length > 0;
    if (isOpen === this.#isOpen) return;
    this.#isOpen = isOpen;
    if (!isOpen) this.#end();
  }

  #tellFull({ logger }: ComponentContext): void {
    if (this.#isFull) return;
    this.#isFull = true;
    logger.warn(
      { ...this.#details(), messages: this.#messages, bytes: this.#bytes },
      'the limit for messages before the subscriptions of these applications are known is reached: no more are kept for them',
    );
  }

  #giveUp({ logger }: ComponentContext): void {
    logger.warn(
      { ...this.#details(), messages: this.#messages, afterMs: STARTUP_LIMITS.ms },
      'the subscriptions of these applications are still not known: messages are no longer kept for them',
    );
    for (const name of this.#awaited) this.#givenUp.add(name);
    this.#update();
  }

  #details(): { readonly pubsubName: string; readonly applications: readonly string[] } {
    return { pubsubName: this.#deps.pubsubName, applications: this.#awaited };
  }

  #end(): void {
    this.#stopTimer();
    this.#since = undefined;
    this.#messages = 0;
    this.#bytes = 0;
    this.#isFull = false;
    this.#deps.onEnd();
  }

  #stopTimer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timedBy = undefined;
  }
}
