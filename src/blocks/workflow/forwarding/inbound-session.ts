import type {
  CallOutcome,
  ForwardedCall,
  ForwardedWait,
  PeerReplies,
  PeerRequest,
  PeerSession,
  WaitAnswer,
} from './call.ts';

/** Max waits of a session; for more, the caller reads the store. */
const MAX_WAITS = 10_000;

/** The dependencies of an {@link InboundSession}. */
export interface InboundSessionDeps {
  readonly do: (call: ForwardedCall) => Promise<CallOutcome>;
  /** Rejects when the instance is not on this host. */
  readonly wait: (wait: ForwardedWait, signal: AbortSignal) => Promise<WaitAnswer>;
  readonly release: (answered: readonly string[]) => void;
  readonly replies: PeerReplies;
  readonly onClose: () => void;
}

/** The requests of one other host. */
export class InboundSession implements PeerSession {
  readonly #deps: InboundSessionDeps;
  /** By ID; aborting ends the wait. */
  readonly #waits = new Map<number, AbortController>();
  #underWay = 0;
  #state: 'open' | 'closing' | 'closed' = 'open';

  constructor(deps: InboundSessionDeps) {
    this.#deps = deps;
  }

  send({ calls, answered, waits, left }: PeerRequest): void {
    this.#deps.release(answered);
    if (calls.length > 0) void this.#do(calls);
    for (const wait of waits) void this.#wait(wait);
    for (const id of left) this.#leave(id);
  }

  /** Starts all at once, so that calls for one instance arrive in order. */
  async #do(calls: readonly ForwardedCall[]): Promise<void> {
    this.#underWay++;
    const outcomes = await Promise.all(calls.map((call) => this.#deps.do(call)));
    this.#underWay--;
    if (this.#state !== 'closed') this.#deps.replies.outcomes(outcomes);
    if (this.#state === 'closing') this.stop();
  }

  async #wait(wait: ForwardedWait): Promise<void> {
    const { id } = wait;
    const { replies } = this.#deps;
    if (this.#state !== 'open' || this.#waits.size >= MAX_WAITS) return replies.answer({ id });
    const leaving = new AbortController();
    this.#waits.set(id, leaving);
    // Without a view, if the instance is not on this host.
    const answer = await this.#deps.wait(wait, leaving.signal).catch(() => ({ id }));
    if (!leaving.signal.aborted && this.#waits.delete(id)) replies.answer(answer);
  }

  #leave(id: number): void {
    const leaving = this.#waits.get(id);
    if (this.#waits.delete(id)) leaving?.abort(new Error('nobody waits any more'));
  }

  /** Takes nothing more, leaves waits to the next owner, and ends when the calls under way have been answered. */
  stop(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closing';
    for (const id of [...this.#waits.keys()]) {
      this.#leave(id);
      this.#deps.replies.answer({ id });
    }
    if (this.#underWay > 0) return;
    this.close();
    this.#deps.replies.ended(new Error('the host is stopping'));
  }

  close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    for (const id of [...this.#waits.keys()]) this.#leave(id);
    this.#deps.onClose();
  }
}
