import { connect } from 'node:net';
import { isUntouched } from '../http/body.ts';
import { directClient } from '../http/direct-client.ts';
import type { SidecarRequest, SidecarResponse } from '../http/message.ts';
import { isNoConnection } from './no-connection.ts';
import type { AppAddress, AppTransport } from './transport.ts';

const PROBE_TIMEOUT_MS = 500;

/** Where an application listens that says no host: `listen(port, 'localhost')` is the second with Node 17 and later. */
const LOOPBACK_HOSTS: readonly [string, string] = ['127.0.0.1', '::1'];

/** The application listens on a port: HTTP/1.1 with keep-alive. Without a host, on a loopback address. */
export function portTransport(port: number, host: string | undefined, headLimitBytes?: number): AppTransport {
  if (host === undefined) return new LoopbackTransport(port, headLimitBytes);
  return new HostTransport(port, host, headLimitBytes);
}

/** An application on one host. */
class HostTransport implements AppTransport {
  readonly address: AppAddress & { readonly port: number };
  readonly handle: AppTransport['handle'];
  readonly #client: ReturnType<typeof directClient>;

  constructor(port: number, host: string, headLimitBytes?: number) {
    this.address = { host, port, protocol: 'http' };
    this.#client = directClient(host, port, headLimitBytes);
    this.handle = this.#client.handle;
  }

  isReachable(): Promise<boolean> {
    return accepts(this.address.port, this.address.host);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

/** An application on one of the loopback addresses: the one that took the last connection is tried first. */
class LoopbackTransport implements AppTransport {
  #first: HostTransport;
  #second: HostTransport;

  constructor(port: number, headLimitBytes?: number) {
    const [first, second] = LOOPBACK_HOSTS;
    this.#first = new HostTransport(port, first, headLimitBytes);
    this.#second = new HostTransport(port, second, headLimitBytes);
  }

  get address(): AppAddress {
    return this.#first.address;
  }

  readonly handle = (request: SidecarRequest): Promise<SidecarResponse> =>
    this.#first.handle(request).catch((error: unknown) => this.#tryOther(request, error));

  async #tryOther(request: SidecarRequest, error: unknown): Promise<SidecarResponse> {
    if (!isNoConnection(error) || !isUntouched(request.body)) throw error;
    const other = this.#second;
    try {
      const response = await other.handle(request);
      this.#prefer(other);
      return response;
    } catch (failure) {
      throw isNoConnection(failure) ? error : failure;
    }
  }

  async isReachable(): Promise<boolean> {
    if (await this.#first.isReachable()) return true;
    const other = this.#second;
    if (!(await other.isReachable())) return false;
    this.#prefer(other);
    return true;
  }

  #prefer(transport: HostTransport): void {
    if (transport === this.#first) return;
    this.#second = this.#first;
    this.#first = transport;
  }

  async close(): Promise<void> {
    await Promise.all([this.#first.close(), this.#second.close()]);
  }
}

/** Whether the port takes a TCP connection: at a host, or without one at a loopback address. */
export async function accepts(port: number, host?: string): Promise<boolean> {
  for (const one of host === undefined ? LOOPBACK_HOSTS : [host]) if (await acceptsAt(port, one)) return true;
  return false;
}

/** The time-out is in real time: it bounds the network. */
function acceptsAt(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host, timeout: PROBE_TIMEOUT_MS });
    const done = (reachable: boolean): void => {
      socket.destroy();
      resolve(reachable);
    };
    socket.once('connect', () => done(true));
    socket.once('timeout', () => done(false));
    socket.once('error', () => done(false));
  });
}
