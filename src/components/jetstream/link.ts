import { messageOf } from '../../errors.ts';
import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import type { Logger } from '../../util/logger.ts';
import { clearTimeout, setTimeout } from '../../util/timers.ts';
import { OutageLog } from '../broker/outage-log.ts';
import type { NatsConnection } from './driver.ts';
import { NatsSession } from './session.ts';

const BACKOFF: Backoff = { initialDelayMs: 50, maxDelayMs: 2_000, factor: 2, jitter: 0.5 };
/** A connection that ends earlier counts as a failed attempt. */
const SHORT_MS = 1_000;
/** As many different problems are remembered as told. */
const MAX_PROBLEMS = 32;

/** Who uses the connection. */
export interface LinkUser {
  /** A connection is there. */
  connected(session: NatsSession): void;
  /** It is gone. */
  disconnected(): void;
}

/** The dependencies of a {@link NatsLink}. */
export interface NatsLinkDeps {
  /** For messages. */
  readonly server: string;
  /** Connects; `others` are servers of the cluster that were told of. */
  readonly connect: (others: readonly string[]) => Promise<NatsConnection>;
  readonly logger: Logger;
  /** A number from 0 to 1. */
  readonly random: () => number;
}

interface Waiter {
  readonly resolve: (session: NatsSession) => void;
  readonly reject: (error: Error) => void;
}

/** The connection to NATS, made again whenever it ends. */
export class NatsLink {
  readonly #deps: NatsLinkDeps;
  readonly #users = new Set<LinkUser>();
  #waiters: Waiter[] = [];
  #session: NatsSession | undefined;
  #others: readonly string[] = [];
  #isClosed = false;
  /** Why the last attempt to connect has failed. */
  #failure: string | undefined;
  /** What went wrong since there was a connection, each told once: reasons can alternate. */
  readonly #problems = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #wake: (() => void) | undefined;
  readonly #outages: OutageLog;
  readonly #running: Promise<void>;

  constructor(deps: NatsLinkDeps) {
    this.#deps = deps;
    this.#outages = new OutageLog(deps.logger, deps.server);
    this.#running = this.#run();
  }

  get session(): NatsSession | undefined {
    return this.#session;
  }

  get server(): string {
    return this.#deps.server;
  }

  /** Why there is no connection, if there is none and that is known. */
  get failure(): string | undefined {
    return this.#session === undefined ? this.#failure : undefined;
  }

  join(user: LinkUser): void {
    this.#users.add(user);
    if (this.#session !== undefined) user.connected(this.#session);
  }

  leave(user: LinkUser): void {
    this.#users.delete(user);
  }

  /** The connection; rejects if the next attempt to make one fails. */
  ready(): Promise<NatsSession> {
    if (this.#session !== undefined) return Promise.resolve(this.#session);
    if (this.#isClosed) return Promise.reject(new Error('the component is closed'));
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
    });
  }

  async #run(): Promise<void> {
    for (let failed = 0; !this.#isClosed; ) {
      const startedAt = performance.now();
      const session = await this.#connect();
      if (session !== undefined) await this.#serve(session);
      if (session !== undefined && performance.now() - startedAt >= SHORT_MS) failed = 0;
      failed++;
      if (!this.#isClosed) await this.#pause(backoffDelayMs(BACKOFF, failed, this.#deps.random));
    }
  }

  async #connect(): Promise<NatsSession | undefined> {
    const { server, connect } = this.#deps;
    try {
      const connection = await connect(this.#others);
      return new NatsSession(connection, server, (error) => this.#report(`${server} reports: ${error.message}`));
    } catch (error) {
      this.#failure = messageOf(error);
      const failure = new Error(`cannot connect to ${server}: ${this.#failure}`, { cause: error });
      this.#outages.onLost(this, this.#failure);
      for (const { reject } of this.#takeWaiters()) reject(failure);
      return undefined;
    }
  }

  async #serve(session: NatsSession): Promise<void> {
    if (this.#isClosed) return session.close();
    this.#session = session;
    this.#others = session.otherServers;
    this.#outages.onConnected(this);
    this.#problems.clear();
    for (const user of this.#users) user.connected(session);
    for (const { resolve } of this.#takeWaiters()) resolve(session);
    const reason = await session.ended;
    this.#session = undefined;
    this.#failure = reason.message;
    if (!this.#isClosed) this.#outages.onLost(this, reason.message);
    for (const user of this.#users) user.disconnected();
  }

  #takeWaiters(): Waiter[] {
    const waiters = this.#waiters;
    this.#waiters = [];
    return waiters;
  }

  #report(problem: string): void {
    if (this.#problems.has(problem)) return;
    if (this.#problems.size === MAX_PROBLEMS) this.#problems.clear();
    this.#problems.add(problem);
    this.#deps.logger.warn({}, problem);
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#timer = setTimeout(resolve, delayMs);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#wake?.();
    for (const { reject } of this.#takeWaiters()) reject(new Error('the component is closed'));
    if (this.#session === undefined) return;
    await this.#session.close();
    await this.#running;
  }
}
