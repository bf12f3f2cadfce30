import type { Timer } from '../util/clock.ts';
import type { Expected } from '../util/expected.ts';
import type { ComponentContext } from './component.ts';

/**
 * How much is kept for applications whose subscriptions are not known yet, and how long: longer than most applications
 * take to come up, and little enough to be held beside everything else.
 */
export const STARTUP_LIMITS: { readonly messages: number; readonly bytes: number; readonly ms: number } = {
  messages: 10_000,
  bytes: 16 * 1024 * 1024,
  ms: 120_000,
};

/** What a startup period is made of. */
export interface StartupPeriodDeps {
  readonly pubsubName: string;
  readonly expected: Expected;
  /** Everybody is known, or is waited for no longer: what is kept is for nobody else. */
  readonly onEnd: () => void;
}

/**
 * The time in which a component keeps what is published, as there are applications whose subscriptions are not known
 * yet. It is bounded in time and amount.
 */
export class StartupPeriod {
  readonly #deps: StartupPeriodDeps;
  readonly #listening: Disposable;
  /** Those that are waited for no longer. */
  readonly #givenUp = new Set<string>();
  #isOpen = false;
  #messages = 0;
  #bytes = 0;
  #isFull = false;
  /** When the first message was kept. */
  #since: number | undefined;
  #timer: Timer | undefined;
  /** Whose clock it is. */
  #timedBy: ComponentContext | undefined;

  constructor(deps: StartupPeriodDeps) {
    this.#deps = deps;
    this.#listening = deps.expected.onChange(() => this.#look());
    this.#look();
  }

  /** Whether what is published is kept. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Counts a message that is to be kept; answers whether there is room for it. */
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

  /** A sidecar uses the component no longer: its clock is not to be relied on. */
  left(context: ComponentContext): void {
    if (this.#timedBy === context) this.#stopTimer();
  }

  /** Nobody uses the component any longer: what is kept stays as it is. */
  close(): void {
    this.#listening[Symbol.dispose]();
    this.#stopTimer();
    this.#isOpen = false;
  }

  get #awaited(): readonly string[] {
    return this.#deps.expected.names.filter((name) => !this.#givenUp.has(name));
  }

  #look(): void {
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
      'too much is published before the subscriptions of these applications are known: no more is kept for them',
    );
  }

  #giveUp({ logger }: ComponentContext): void {
    logger.warn(
      { ...this.#details(), messages: this.#messages, afterMs: STARTUP_LIMITS.ms },
      'the subscriptions of these applications are still not known: what was published is kept for them no longer',
    );
    for (const name of this.#awaited) this.#givenUp.add(name);
    this.#look();
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
