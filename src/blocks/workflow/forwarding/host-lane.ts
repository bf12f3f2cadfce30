import { type Clock, type DualInstant, dualNow, msSince, type Timer } from '../../../util/clock.ts';
import { setImmediate } from '../../../util/timers.ts';
import {
  type CallOutcome,
  CallsRefused,
  type ForwardedCall,
  type ForwardedWait,
  type HostPeer,
  NOT_DONE,
  type PeerSession,
  UNREACHABLE_MS,
  UNSURE,
} from './call.ts';
import { OpenWaits, type WaitListener } from './open-waits.ts';
import { inTime } from './time-limit.ts';

/** Max calls and characters per batch. */
const MAX_CALLS = 128;
export const MAX_LENGTH: number = 512 * 1024;
/**
 * How long a session lasts: the token that opened it was valid that long, and servers give up requests that have not
 * ended after some minutes.
 */
const MAX_SESSION_MS = 60_000;

interface PendingCall {
  readonly call: ForwardedCall;
  readonly length: number;
  readonly resolve: (outcome: CallOutcome) => void;
}

interface HostSession extends PeerSession {
  readonly limit: Timer;
  isOld: boolean;
}

interface CallsInFlight {
  readonly resolve: (outcomes: readonly CallOutcome[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Calls to one host and waits for its instances, in one session. One batch of calls is in flight at a time, and the
 * calls made meanwhile are the next one: small batches cost both hosts more than the wait. Calls keep their order.
 */
export class HostLane {
  readonly #peer: HostPeer;
  readonly #clock: Clock;
  readonly #waiting: PendingCall[] = [];
  /** Calls that are not sent, while others that they must not overtake are in flight. */
  readonly #unsent: PendingCall[] = [];
  readonly #waits: OpenWaits = new OpenWaits(() => this.#schedule());
  #answered: string[] = [];
  #session: HostSession | undefined;
  #inFlight: CallsInFlight | undefined;
  #isScheduled = false;
  #isStopped = false;
  /** Calls to the host are suspended since then, for some time. */
  #leftOut: { readonly since: DualInstant; readonly forMs: number } | undefined;

  constructor(peer: HostPeer, clock: Clock) {
    this.#peer = peer;
    this.#clock = clock;
  }

  /** Whether calls to the host are not suspended. */
  get isOpen(): boolean {
    if (this.#isStopped || this.#leftOut === undefined) return !this.#isStopped;
    const { since, forMs } = this.#leftOut;
    return msSince(since, this.#clock) >= forMs;
  }

  /** Never rejects. */
  send(call: ForwardedCall, length: number): Promise<CallOutcome> {
    return new Promise((resolve) => {
      this.#waiting.push({ call, length, resolve });
      this.#schedule();
    });
  }

  /** Calls back once, unless the result is disposed before. */
  wait(wait: Omit<ForwardedWait, 'id'>, listener: WaitListener): Disposable {
    return this.#waits.add(wait, listener);
  }

  /** Ends the session, and leaves all waits to the store. */
  stop(): void {
    this.#isStopped = true;
    this.#fail(new Error('the sidecar is stopping'));
  }

  /** Work of one turn of the event loop goes together. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    try {
      if (this.#isStopped) throw new Error('the sidecar is stopping');
      if (this.#session === undefined) await this.#open();
    } catch (error) {
      this.#isScheduled = false;
      return this.#fail(error);
    }
    this.#isScheduled = false;
    const session = this.#session;
    const batch = this.#inFlight === undefined ? this.#take() : [];
    const { waits, left } = this.#waits.takeNews();
    if (session === undefined || batch.length + waits.length + left.length === 0) return;
    const answered = batch.length > 0 ? this.#answered.splice(0) : [];
    const outcomes = batch.length > 0 ? this.#outcomesOf(batch, session) : undefined;
    session.send({ calls: batch.map(({ call }) => call), answered, waits, left });
    await outcomes;
  }

  /** If this fails, the host has done nothing. */
  async #open(): Promise<void> {
    let session: HostSession | undefined;
    let ended: { readonly error: unknown } | undefined;
    const isOurs = (): boolean => session !== undefined && session === this.#session;
    const peer = await this.#peer.open({
      outcomes: (outcomes) => isOurs() && this.#inFlight?.resolve(outcomes),
      answer: (answer) => isOurs() && this.#waits.answer(answer),
      ended: (error) => {
        ended = { error };
        if (isOurs()) this.#fail(error);
      },
    });
    if (ended !== undefined) throw ended.error;
    const limit = this.#clock.setTimeout(() => {
      if (session !== undefined && isOurs()) this.#growOld(session);
    }, MAX_SESSION_MS);
    session = { send: (request) => peer.send(request), close: () => peer.close(), limit, isOld: false };
    this.#session = session;
    if (this.#isStopped) this.#fail(new Error('the sidecar is stopping'));
  }

  #take(): readonly PendingCall[] {
    let [count, length] = [0, 0];
    for (const one of this.#waiting) {
      length += one.length;
      if (count > 0 && (count >= MAX_CALLS || length > MAX_LENGTH)) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  async #outcomesOf(batch: readonly PendingCall[], session: HostSession): Promise<void> {
    let outcomes: readonly CallOutcome[] = [];
    try {
      const answer = new Promise<readonly CallOutcome[]>((resolve, reject) => {
        this.#inFlight = { resolve, reject };
      });
      outcomes = await inTime(answer);
    } catch (error) {
      if (session === this.#session) this.#fail(error);
    }
    this.#inFlight = undefined;
    const redone = new Set<string>();
    batch.forEach(({ call, resolve }, index) => {
      const outcome = outcomes[index] ?? UNSURE;
      if (outcome.is === 'done') this.#answered.push(call.key);
      else if (outcome.is !== 'refused') redone.add(call.instanceId);
      resolve(outcome);
    });
    if (redone.size > 0) this.#keepBehind(redone);
    this.#giveBack();
    if (session.isOld) this.#replace(session);
    if (this.#waiting.length > 0) this.#schedule();
  }

  /** Begins another session between two batches: their calls cannot overtake each other. */
  #growOld(session: HostSession): void {
    session.isOld = true;
    if (this.#inFlight === undefined) this.#replace(session);
  }

  /** Another session begins with the next call, or at once if there are waits. */
  #replace(session: HostSession): void {
    if (session !== this.#session) return;
    this.#session = undefined;
    session.close();
    this.#waits.repeat();
    if (this.#waits.size > 0) this.#schedule();
  }

  /** The session failed, or cannot be opened: suspends calls for a while. */
  #fail(error: unknown): void {
    const session = this.#session;
    this.#session = undefined;
    session?.limit.cancel();
    session?.close();
    const forMs = error instanceof CallsRefused ? error.forMs : UNREACHABLE_MS;
    this.#leftOut = { since: dualNow(this.#clock), forMs };
    this.#inFlight?.reject(error);
    this.#unsent.push(...this.#waiting.splice(0));
    // Their callers turn to the store, where they must not overtake those in flight.
    if (this.#inFlight === undefined) this.#giveBack();
    this.#waits.leaveToStore();
  }

  /** Calls for these instances were not done, or perhaps not: those that wait must not overtake them. */
  #keepBehind(instanceIds: ReadonlySet<string>): void {
    const isBehind = ({ call }: PendingCall): boolean => instanceIds.has(call.instanceId);
    this.#unsent.push(...this.#waiting.filter(isBehind));
    this.#waiting.splice(0, Number.POSITIVE_INFINITY, ...this.#waiting.filter((one) => !isBehind(one)));
  }

  /** Nothing was done for these calls. */
  #giveBack(): void {
    for (const { resolve } of this.#unsent.splice(0)) resolve(NOT_DONE);
  }
}
