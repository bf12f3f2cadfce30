import { UnknownThereError } from '../remote/first-of.ts';
import type { RedisClient, RedisModule } from './driver.ts';
import type { NodeAddress, RedisNode, RedisTarget } from './target.ts';

/** The driver's `BLOB_STRING`: the type of texts in replies. */
const BLOB_STRING = 36;

/** The dependencies of a {@link Dialer}. */
export interface DialerDeps {
  readonly target: RedisTarget;
  readonly load: () => Promise<RedisModule>;
  /** Version of the protocol. Default: the driver's. */
  readonly protocol?: 2;
}

interface Credentials {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database?: number;
}

/** Makes single connections to the nodes of a target. They do not reconnect. */
export class Dialer {
  readonly #deps: DialerDeps;

  constructor(deps: DialerDeps) {
    this.#deps = deps;
  }

  /** The address of the server: the node, or what it answers as a sentinel. */
  async addressVia(node: RedisNode, signal: AbortSignal): Promise<NodeAddress> {
    const { sentinelName, sentinelUsername: username, sentinelPassword: password } = this.#deps.target;
    if (sentinelName === undefined) return node;
    const client = await this.#open(node, { username, password }, signal);
    try {
      const command = ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', sentinelName];
      const address = (await client.sendCommand(command)) as Buffer[] | null;
      // It may have lost its configuration, or not have it yet: another sentinel may know the server.
      if (address === null) throw new UnknownThereError(`the sentinel knows no server ${JSON.stringify(sentinelName)}`);
      return { host: String(address[0]), port: Number(address[1]) };
    } finally {
      destroy(client);
    }
  }

  /** Connects and logs in. The signal destroys the connection. */
  dial(address: NodeAddress, signal: AbortSignal): Promise<RedisClient> {
    const { username, password, database } = this.#deps.target;
    return this.#open(address, { username, password, database }, signal);
  }

  async #open({ host, port }: NodeAddress, credentials: Credentials, signal: AbortSignal): Promise<RedisClient> {
    const { target, load, protocol } = this.#deps;
    const { createClient } = await load();
    // It fires once: what connects after it would stay connected.
    signal.throwIfAborted();
    const client = createClient({
      ...credentials,
      ...(protocol === undefined ? {} : { RESP: protocol }),
      // No automatic reconnection: the outcome of the last calls has to be found out first.
      socket: {
        host,
        port,
        reconnectStrategy: false,
        ...(target.tls && { ...target.tls, tls: true }),
      },
      disableOfflineQueue: true,
      // No time limit of the driver's for each command, which costs more than the command: connections have one of ours.
      commandOptions: { typeMapping: { [BLOB_STRING]: Buffer }, timeout: 0 },
    });
    // Calls reject with the error; without a listener, it would end the process.
    client.on('error', () => undefined);
    signal.addEventListener('abort', () => destroy(client));
    await client.connect();
    return client;
  }
}

/** Destroys a client, unless it is destroyed already. */
export function destroy(client: RedisClient): void {
  try {
    client.destroy();
  } catch {
    // Already closed.
  }
}
