import type { InstanceView } from '../model/instance.ts';

/** How long to watch the store before the owner is asked again. */
const ASK_AGAIN_MS = 5_000;

/** The dependencies of an {@link InstanceWatch}. */
export interface InstanceWatchDeps {
  readonly ask: (listener: (view: InstanceView | undefined) => void) => Disposable | undefined;
  readonly watchStore: (listener: () => void) => Disposable;
  readonly now: () => number;
  readonly onChange: (view?: InstanceView) => void;
}

/** Watches one instance of another host: asks its owner, or watches the store while that is not possible. */
export class InstanceWatch implements Disposable {
  readonly #deps: InstanceWatchDeps;
  #asking: Disposable | undefined;
  #watching: Disposable | undefined;
  #askAgainAt = 0;

  constructor(deps: InstanceWatchDeps) {
    this.#deps = deps;
    this.#ask();
  }

  /** Whether the owner will answer, so that the store need not be read. */
  get isAsked(): boolean {
    return this.#asking !== undefined;
  }

  #ask(): void {
    const { ask, watchStore } = this.#deps;
    this.#asking = ask((view) => this.#answered(view));
    if (this.#asking === undefined) this.#watching ??= watchStore(() => this.#changed());
    else this.#leaveStore();
  }

  #answered(view: InstanceView | undefined): void {
    const { watchStore, now, onChange } = this.#deps;
    this.#asking = undefined;
    this.#askAgainAt = now() + ASK_AGAIN_MS;
    this.#watching ??= watchStore(() => this.#changed());
    onChange(view);
  }

  #changed(): void {
    if (this.#deps.now() >= this.#askAgainAt) this.#ask();
    if (!this.isAsked) this.#deps.onChange();
  }

  #leaveStore(): void {
    this.#watching?.[Symbol.dispose]();
    this.#watching = undefined;
  }

  [Symbol.dispose](): void {
    this.#asking?.[Symbol.dispose]();
    this.#leaveStore();
  }
}
