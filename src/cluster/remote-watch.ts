import type { OnChange } from '../state/local-watch.ts';
import type { StateStore } from '../state/store.ts';
import type { Clock, Timer } from '../util/clock.ts';

/** Poll interval if the store sends no hints of other processes' changes. */
const POLL_MS = 1_000;
/** Poll interval if the store sends hints, which may be lost. */
const RARE_POLL_MS = 60_000;

interface Watcher {
  readonly prefix: string;
  readonly onChange: OnChange;
  watching: Disposable | undefined;
}

/** Watches changes of other hosts. Without other hosts it watches nothing, so that commits notify no watcher. */
export class RemoteWatch {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #watchers = new Set<Watcher>();
  #isOn = false;
  #timer: Timer | undefined;

  constructor(store: StateStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  watch(prefix: string, onChange: OnChange): Disposable {
    const watcher: Watcher = { prefix, onChange, watching: undefined };
    this.#watchers.add(watcher);
    if (this.#isOn) this.#attach(watcher);
    return {
      [Symbol.dispose]: () => {
        this.#watchers.delete(watcher);
        watcher.watching?.[Symbol.dispose]();
        watcher.watching = undefined;
      },
    };
  }

  /** Whether there are other hosts. Set again when other processes have opened the store, or none has it open any more. */
  set isOn(isOn: boolean) {
    // An exclusive store notifies of every change: no polling.
    const polls = isOn && this.#store.isExclusive !== true;
    if (polls !== (this.#timer !== undefined)) {
      this.#timer?.cancel();
      this.#timer = undefined;
      if (polls) this.#poll();
    }
    if (isOn === this.#isOn) return;
    this.#isOn = isOn;
    for (const watcher of this.#watchers) {
      if (isOn) this.#attach(watcher);
      else {
        watcher.watching?.[Symbol.dispose]();
        watcher.watching = undefined;
      }
    }
  }

  #attach(watcher: Watcher): void {
    watcher.watching = this.#store.watch(watcher.prefix, watcher.onChange);
  }

  #poll(): void {
    const delayMs = this.#store.hints === 'all' ? RARE_POLL_MS : POLL_MS;
    this.#timer = this.#clock.setTimeout(() => {
      this.#poll();
      for (const { onChange } of [...this.#watchers]) onChange([]);
    }, delayMs);
  }
}
