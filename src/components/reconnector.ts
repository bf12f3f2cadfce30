import { type Backoff, backoffDelayMs } from '../util/backoff.ts';
import { withTimeLimit } from '../util/time-limit.ts';
import { clearTimeout, setTimeout } from '../util/timers.ts';
import type { OutageLog } from './outage-log.ts';

// Captured at import, as the timers are: a server's time is real time.
const { performance } = globalThis;

/** Between attempts to connect. */
export const RECONNECT: Backoff = { initialDelayMs: 50, maxDelayMs: 2_000, factor: 2, jitter: 0.5 };
/** A connection that lasts shorter counts as a failed attempt: a server may end every connection at once. */
export const SHORT_LIFE_MS = 1_000;
/** How long a close waits for the attempt under way. */
const CLOSE_LIMIT_MS = 1_000;

/** The dependencies of a {@link Reconnector}. */
export interface ReconnectorDeps<C extends object> {
  /**
   * Makes one connection, and resolves once it works. Its error names the server. When the signal fires, the attempt is
   * given up; a connection that comes all the same is ended.
   */
  readonly connect: (signal: AbortSignal) => Promise<C>;
  /** Ends a connection that is not needed any more. */
  readonly end: (connection: C) => Promise<void> | void;
  /** Called with every connection, the first one included. */
  readonly onConnected?: (connection: C) => void;
  /** Called when an attempt has failed. */
  readonly onFailure?: (error: Error) => void;
  readonly outages: OutageLog;
  /** A number from 0 to 1. */
  readonly random: () => number;
}

/** How long something may take, and the error when it takes longer. */
export interface TimeLimit {
  readonly limitMs: number;
  readonly error: () => Error;
}

/** The end of a connection. */
export interface Loss<C> {
  readonly connection: C;
  readonly error: Error;
  /** How long the connection had lasted. */
  readonly livedMs: number;
}

/** Options of a {@link Reconnector}. */
export interface ReconnectorOptions<C> {
  /** The time between failed attempts. Default: {@link RECONNECT}. */
  readonly backoff?: Backoff;
  /** A connection that lasts shorter counts as a failed attempt. Default: {@link SHORT_LIFE_MS}. */
  readonly shortLifeMs?: number;
  /** The time limit of an attempt. Default: that of `connect`. */
  readonly attemptLimit?: TimeLimit;
  /** Whether callers need not wait for an attempt after this error. Default: they wait. */
  readonly isFinal?: (error: Error) => boolean;
  /** Whether the server has said that another one takes over. Default: it never does. */
  readonly isHandOver?: (error: Error) => boolean;
  /** For a loss that is no outage: the time until the next attempt, in milliseconds. Default: each is an outage. */
  readonly pauseAfter?: (loss: Loss<C>) => number | undefined;
}

interface Waiter<C> {
  readonly resolve: (connection: C) => void;
  readonly reject: (error: Error) => void;
  /** Whether the failure of one attempt is its answer. */
  readonly isImpatient: boolean;
}

interface ConnectAttempt {
  /** One for each: a signal keeps its listeners. */
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

/**
 * One connection to a server, which is made again whenever it is lost: at once if it had lasted, else with growing
 * delays, for ever. The log has each reason once, and the end of the outage.
 */
export class Reconnector<C extends object> {
  readonly #deps: ReconnectorDeps<C>;
  readonly #options: ReconnectorOptions<C>;
  readonly #waiters = new Set<Waiter<C>>();
  /** Why connections ended that are not the current one. */
  readonly #ends = new WeakMap<C, Error>();
  #connection: C | undefined;
  #failure: Error | undefined;
  /** Attempts in sequence that failed, or whose connection did not last. */
  #failures = 0;
  #connectedAt = 0;
  #attempt: ConnectAttempt | undefined;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: ReconnectorDeps<C>, options: ReconnectorOptions<C> = {}) {
    this.#deps = deps;
    this.#options = options;
  }

  /** The connection, if there is one now. */
  get connection(): C | undefined {
    return this.#connection;
  }

  /** Why the last attempt failed; `undefined` while connected, and while a lost connection is made again at once. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Begins to connect, unless it has begun. */
  start(): void {
    if (this.#connection !== undefined || this.#attempt !== undefined || this.#timer !== undefined) return;
    if (this.#isClosed) return;
    const abort = new AbortController();
    this.#attempt = { abort, ended: this.#connect(abort) };
  }

  /** The connection; rejects if the attempt under way, or else the next one, fails. */
  ready(): Promise<C> {
    return this.#connected(true);
  }

  /** Like {@link ready}, but rejects at once between two attempts. */
  reachable(): Promise<C> {
    if (this.#failure !== undefined && this.#attempt === undefined) return Promise.reject(this.#failure);
    return this.#connected(true);
  }

  /** The connection, however long it takes; rejects when this object is closed, or with an error that is final. */
  connected(limit?: TimeLimit): Promise<C> {
    return this.#connected(false, limit);
  }

  async #connected(isImpatient: boolean, limit?: TimeLimit): Promise<C> {
    if (this.#connection !== undefined) return this.#connection;
    if (this.#isClosed) throw closedError();
    this.start();
    let waiter: Waiter<C> | undefined;
    const connected = new Promise<C>((resolve, reject) => {
      waiter = { resolve, reject, isImpatient };
      this.#waiters.add(waiter);
    });
    try {
      return await (limit === undefined ? connected : withTimeLimit(connected, limit.limitMs, limit.error));
    } finally {
      // Outages can be long, and many callers wait in vain.
      if (waiter !== undefined) this.#waiters.delete(waiter);
    }
  }

  async #connect(abort: AbortController): Promise<void> {
    let connection: C;
    try {
      connection = await this.#connectInTime(abort);
      const end = this.#ends.get(connection);
      if (end !== undefined) throw end;
    } catch (error) {
      this.#attempt = undefined;
      return this.#onFailure(error as Error);
    }
    if (this.#isClosed) return this.#deps.end(connection);
    this.#attempt = undefined;
    this.#use(connection);
  }

  async #connectInTime(abort: AbortController): Promise<C> {
    const { connect, end } = this.#deps;
    const { attemptLimit } = this.#options;
    const connecting = connect(abort.signal);
    if (attemptLimit === undefined) return connecting;
    return withTimeLimit(connecting, attemptLimit.limitMs, () => {
      abort.abort();
      connecting.then(end).catch(() => undefined);
      return attemptLimit.error();
    });
  }

  #use(connection: C): void {
    const { outages, onConnected } = this.#deps;
    this.#connection = connection;
    this.#failure = undefined;
    this.#connectedAt = performance.now();
    outages.onConnected(this);
    onConnected?.(connection);
    // It may have been lost in there.
    if (this.#connection !== connection) return;
    for (const { resolve } of this.#waiters) resolve(connection);
    this.#waiters.clear();
  }

  #onFailure(error: Error): void {
    if (this.#isClosed) return;
    const { onFailure } = this.#deps;
    this.#logLoss(error);
    this.#failures++;
    this.#connectLater(error, this.#delayMs);
    const isFinal = this.#options.isFinal?.(error) ?? false;
    for (const { isImpatient, reject } of this.#waiters) if (isFinal || isImpatient) reject(error);
    onFailure?.(error);
  }

  /** The connection has ended, or does not work any more. Connects again. */
  lose(connection: C, error: Error): void {
    this.#ends.set(connection, error);
    if (connection !== this.#connection) return;
    const livedMs = this.#leave();
    const pauseMs = this.#options.pauseAfter?.({ connection, error, livedMs });
    if (pauseMs !== undefined) return this.#connectLater(error, pauseMs);
    this.#logLoss(error);
    this.#restart(error);
  }

  #logLoss(error: Error): void {
    const { outages } = this.#deps;
    if (this.#options.isHandOver?.(error) === true) outages.onHandOver(this, error.message);
    else outages.onLost(this, error.message);
  }

  /** Connects again although the connection works: it leads to the wrong server. The caller ends it. */
  replace(connection: C): void {
    const error = new Error('the connection led to another server');
    this.#ends.set(connection, error);
    if (connection !== this.#connection) return;
    this.#leave();
    this.#restart(error);
  }

  /** At once, unless connections have been short before. */
  #restart(error: Error): void {
    if (this.#failures > 1) this.#connectLater(error, this.#delayMs);
    else this.start();
  }

  /** Returns how long the connection has lasted. */
  #leave(): number {
    this.#connection = undefined;
    const livedMs = performance.now() - this.#connectedAt;
    const isShort = livedMs < (this.#options.shortLifeMs ?? SHORT_LIFE_MS);
    this.#failures = isShort ? this.#failures + 1 : 0;
    return livedMs;
  }

  get #delayMs(): number {
    return backoffDelayMs(this.#options.backoff ?? RECONNECT, this.#failures, this.#deps.random);
  }

  #connectLater(failure: Error, delayMs: number): void {
    this.#failure = failure;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.start();
    }, delayMs);
  }

  /** Ends the connection, and all attempts. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#attempt?.abort.abort();
    this.#deps.outages.onClosed(this);
    for (const { reject } of this.#waiters) reject(closedError());
    const [connection, attempt] = [this.#connection, this.#attempt];
    this.#connection = undefined;
    if (connection !== undefined) await this.#deps.end(connection);
    // A driver may not heed the signal.
    if (attempt !== undefined) await withTimeLimit(attempt.ended, CLOSE_LIMIT_MS, closedError).catch(() => undefined);
  }
}

/** The error of a server that cannot be reached, unless `cause` names the server already. */
export function unreachableText(server: string, cause: unknown): string {
  const reason = reasonOf(cause);
  return reason.startsWith(server) ? reason : `${server} cannot be reached: ${reason}`;
}

/** Errors of sockets have no message when several addresses were tried. */
function reasonOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const { message, code, errors } = Object(error) as { message?: unknown; code?: unknown; errors?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  const [first] = Array.isArray(errors) ? (errors as readonly unknown[]) : [];
  return first === undefined ? String(code ?? error) : reasonOf(first);
}

function closedError(): Error {
  return new Error('the component is closed');
}
