import type { Logger } from '../../util/logger.ts';
import { OutageLog } from '../outage-log.ts';
import { Reconnector, unreachableText } from '../reconnector.ts';
import type { NatsConnection } from './driver.ts';
import { NatsSession } from './session.ts';

/** The maximum number of problems of one connection that are remembered as logged. */
const MAX_PROBLEMS = 32;

/** Uses the connection. */
export interface NatsLinkUser {
  /** A connection is there. */
  connected(session: NatsSession): void;
  /** It is gone. */
  disconnected(): void;
}

/** The dependencies of a {@link NatsLink}. */
export interface NatsLinkDeps {
  /** For messages. */
  readonly server: string;
  /** Connects; `others` are the servers that the cluster had announced last. */
  readonly connect: (others: readonly string[]) => Promise<NatsConnection>;
  readonly logger: Logger;
  /** A number from 0 to 1. */
  readonly random: () => number;
}

/** The connection to NATS, and its users. */
export class NatsLink {
  readonly #deps: NatsLinkDeps;
  readonly #users = new Set<NatsLinkUser>();
  readonly #reconnector: Reconnector<NatsSession>;
  #others: readonly string[] = [];
  /** Errors that the server has reported on this connection, each logged once: they can alternate. */
  readonly #problems = new Set<string>();

  constructor(deps: NatsLinkDeps) {
    this.#deps = deps;
    this.#reconnector = new Reconnector({
      connect: () => this.#connect(),
      end: (session) => session.close(),
      onConnected: (session) => this.#use(session),
      outages: new OutageLog(deps.logger, deps.server),
      random: deps.random,
    });
    this.#reconnector.start();
  }

  get session(): NatsSession | undefined {
    return this.#reconnector.connection;
  }

  get server(): string {
    return this.#deps.server;
  }

  /** Why there is no connection, if that is known. */
  get failure(): string | undefined {
    return this.#reconnector.failure?.message;
  }

  join(user: NatsLinkUser): void {
    this.#users.add(user);
    if (this.session !== undefined) user.connected(this.session);
  }

  leave(user: NatsLinkUser): void {
    this.#users.delete(user);
  }

  /** The connection; rejects if the next attempt to make one fails. */
  ready(): Promise<NatsSession> {
    return this.#reconnector.ready();
  }

  async #connect(): Promise<NatsSession> {
    const { server, connect } = this.#deps;
    try {
      return new NatsSession(await connect(this.#others), server, (error) => this.#report(error));
    } catch (error) {
      throw new Error(unreachableText(server, error), { cause: error });
    }
  }

  #use(session: NatsSession): void {
    this.#others = session.otherServers;
    this.#problems.clear();
    for (const user of this.#users) user.connected(session);
    void session.ended.then((reason) => {
      this.#reconnector.lose(session, reason);
      for (const user of this.#users) user.disconnected();
    });
  }

  #report({ message }: Error): void {
    const problem = `${this.#deps.server} reports: ${message}`;
    if (this.#problems.has(problem)) return;
    if (this.#problems.size === MAX_PROBLEMS) this.#problems.clear();
    this.#problems.add(problem);
    this.#deps.logger.warn({}, problem);
  }

  close(): Promise<void> {
    return this.#reconnector.close();
  }
}
