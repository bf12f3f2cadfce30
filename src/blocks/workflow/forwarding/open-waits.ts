import type { InstanceView } from '../model/instance.ts';
import type { ForwardedWait, PeerRequest, WaitAnswer } from './call.ts';

/** Gets the view of an instance, or `undefined` when it has to be read from the store. */
export type WaitListener = (view: InstanceView | undefined) => void;

interface Waiter {
  readonly wait: ForwardedWait;
  readonly listener: WaitListener;
}

/** The waits for instances of one host, until they are answered. */
export class OpenWaits {
  readonly #onNews: () => void;
  readonly #waiters = new Map<number, Waiter>();
  #unsent = new Set<number>();
  #left: number[] = [];
  #lastId = 0;

  /** @param onNews - called when there is something to send */
  constructor(onNews: () => void) {
    this.#onNews = onNews;
  }

  get size(): number {
    return this.#waiters.size;
  }

  /** Calls back once, unless the result is disposed before. */
  add({ instanceId, until }: Omit<ForwardedWait, 'id'>, listener: WaitListener): Disposable {
    const id = ++this.#lastId;
    this.#waiters.set(id, { wait: { id, instanceId, until }, listener });
    this.#unsent.add(id);
    this.#onNews();
    return { [Symbol.dispose]: () => this.#leave(id) };
  }

  #leave(id: number): void {
    if (!this.#waiters.delete(id) || this.#unsent.delete(id)) return;
    this.#left.push(id);
    this.#onNews();
  }

  /** The waits that the host does not know yet. */
  takeNews(): Pick<PeerRequest, 'waits' | 'left'> {
    const waits = [...this.#unsent].flatMap((id) => this.#waiters.get(id)?.wait ?? []);
    const left = this.#left;
    this.#unsent = new Set();
    this.#left = [];
    return { waits, left };
  }

  /** Another session begins: the host knows none of the waits. */
  repeat(): void {
    this.#unsent = new Set(this.#waiters.keys());
    this.#left = [];
  }

  answer({ id, view }: WaitAnswer): void {
    const waiter = this.#waiters.get(id);
    if (this.#waiters.delete(id)) waiter?.listener(view);
  }

  /** Makes all waiters read the store. */
  leaveToStore(): void {
    const waiters = [...this.#waiters.values()];
    this.#waiters.clear();
    this.repeat();
    for (const { listener } of waiters) listener(undefined);
  }
}
