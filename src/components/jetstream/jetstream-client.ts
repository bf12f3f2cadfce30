import { withTimeLimit } from '../../util/time-limit.ts';
import type { BrokerClient } from '../broker/broker-pubsub.ts';
import type { Deadline } from '../broker/deadlines.ts';
import type { Line, LineOptions, LineReceiver } from '../broker/line.ts';
import type { ComponentContext } from '../component.ts';
import type { Message, PublishFailure } from '../pubsub.ts';
import { JetStreamApi } from './api.ts';
import type { NatsModule } from './driver.ts';
import { JetStreamLine } from './jetstream-line.ts';
import { JetStreamPublisher } from './jetstream-publisher.ts';
import { JetStreamSettlements } from './jetstream-settlements.ts';
import { JetStreamTopology } from './jetstream-topology.ts';
import type { Handle } from './messages.ts';
import { NatsLink } from './nats-link.ts';
import type { JetStreamSettings } from './settings.ts';

const CONNECT_LIMIT_MS = 5_000;
const PING_INTERVAL_MS = 5_000;
const CLOSE_LIMIT_MS = 1_000;

/** Where NATS is, and how to log in. */
export interface NatsAccess {
  /** `host:port` of each. */
  readonly servers: readonly string[];
  readonly connectionName: string | undefined;
  readonly token: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly jwt: string | undefined;
  readonly seed: string | undefined;
  /** Options of `tls.connect`. */
  readonly tls: object | undefined;
}

/** The dependencies of a {@link JetStreamClient}. */
export interface JetStreamClientDeps {
  readonly nats: NatsModule;
  readonly access: NatsAccess;
  readonly apiPrefix: string;
  readonly settings: JetStreamSettings;
  readonly context: ComponentContext;
  /** A number from 0 to 1. */
  readonly random: () => number;
}

/** A sidecar's access to JetStream. */
export class JetStreamClient implements BrokerClient<Handle> {
  readonly name: string;
  readonly #deps: JetStreamClientDeps;
  readonly #link: NatsLink;
  readonly #api: JetStreamApi;
  readonly #topology: JetStreamTopology;
  readonly #publisher: JetStreamPublisher;
  readonly #settlements: JetStreamSettlements;

  constructor(deps: JetStreamClientDeps) {
    this.#deps = deps;
    const { context, access, apiPrefix, settings, random } = deps;
    const { logger } = context;
    const server = `NATS at ${access.servers.join(', ')}`;
    this.name = server;
    const connect = (others: readonly string[]) => deps.nats.connect(connectOptions(deps, others));
    this.#link = new NatsLink({ server, connect, logger, random });
    this.#api = new JetStreamApi(apiPrefix, server);
    this.#topology = new JetStreamTopology({ api: this.#api, settings, server, logger });
    this.#publisher = new JetStreamPublisher({ link: this.#link, topology: this.#topology, logger });
    this.#settlements = new JetStreamSettlements(this.#link, settings.ackWaitMs);
  }

  get failure(): string | undefined {
    return this.#link.failure;
  }

  publish(messages: readonly Message[], deadline: Deadline): Promise<readonly PublishFailure[]> {
    return this.#publisher.publish(messages, deadline);
  }

  openLine(options: LineOptions, receiver: LineReceiver<Handle>): Promise<Line<Handle>> {
    const { random, settings } = this.#deps;
    const deps = {
      link: this.#link,
      api: this.#api,
      topology: this.#topology,
      settlements: this.#settlements,
      ackWaitMs: settings.ackWaitMs,
      random,
    };
    return JetStreamLine.open(deps, options, receiver);
  }

  async close(): Promise<void> {
    const { session } = this.#link;
    // The last settlements are still on their way.
    const silence = (): Error => new Error(`${this.name} does not respond`);
    if (session !== undefined) await withTimeLimit(session.flush(), CLOSE_LIMIT_MS, silence).catch(() => undefined);
    this.#publisher.close();
    this.#settlements.close();
    await this.#link.close();
  }
}

function connectOptions({ nats, access, context }: JetStreamClientDeps, others: readonly string[]): object {
  const { servers, token, username, password, jwt, seed, tls } = access;
  return {
    servers: [...servers, ...others.filter((server) => !servers.includes(server))],
    name: access.connectionName ?? `insidecar ${context.appId}`,
    // A new connection knows nothing of the former one: what is repeated on it is decided by us.
    reconnect: false,
    timeout: CONNECT_LIMIT_MS,
    pingInterval: PING_INTERVAL_MS,
    ...(token === undefined ? {} : { token }),
    ...(username === undefined ? {} : { user: username, pass: password }),
    ...(jwt === undefined || seed === undefined
      ? {}
      : { authenticator: nats.jwtAuthenticator(jwt, Buffer.from(seed)) }),
    ...(tls === undefined ? {} : { tls }),
  };
}
