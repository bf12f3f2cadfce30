import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NodeHandler } from '../../adapters/node.ts';
import { messageOf } from '../../errors.ts';
import { HEAD_LIMIT_BYTES } from '../../http/head-limit.ts';
import { type Clock, sleep } from '../../util/clock.ts';
import { nodeHttp } from '../../util/node-http.ts';
import { CommandFailure } from '../failure.ts';
import { answerClientError, refuseWithoutHost } from './client-errors.ts';
import { portHolder } from './port-holder.ts';

/** Longer than the keep-alive of clients, so that they close first and never use a connection that is closing. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_MS = 10_000;
/** How long slow readers may take for the last bytes of responses. */
const LAST_BYTES_MS = 1_000;

/** The address and handler of a server. */
export interface ListenOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly listener: NodeHandler;
  /** The largest head of a request. Default 16 KiB. */
  readonly headLimitBytes?: number;
  /** Called if the port is taken and a free one is used instead; without it, a taken port is an error. */
  readonly onMoved?: ((message: string) => void) | undefined;
  /** The flag or field that sets the port. */
  readonly chosenBy: string;
  /** Whether no other server is to have the port; `::` then takes IPv4 too. Default: true. */
  readonly isAlone?: boolean;
}

/** A listening server. */
export interface Listening {
  readonly port: number;
  /** Accepts no new connections; open ones end when `end` is called. */
  readonly server: Server;
}

/** @throws Failure naming the port, and its holder if known. */
export async function listenOn(options: ListenOptions): Promise<Listening> {
  const { onMoved, chosenBy } = options;
  const server = serverOf(options);
  try {
    await opened(server, options);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const message = listenProblem(code, options, error as Error);
    if (code !== 'EADDRINUSE' || onMoved === undefined)
      throw new CommandFailure(`${message}${hintFor(code, chosenBy)}`, 1, error);
    await opened(server, { ...options, port: 0 });
    onMoved(message);
  }
  return { server, port: (server.address() as AddressInfo).port };
}

function serverOf({ listener, headLimitBytes = HEAD_LIMIT_BYTES }: ListenOptions): Server {
  const server = nodeHttp().createServer(
    {
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_MS,
      // No time limit for a whole request: uploads and long responses pass through.
      requestTimeout: 0,
      maxHeaderSize: headLimitBytes,
      // Node would refuse it without a body.
      requireHostHeader: false,
    },
    (req, res) => refuseWithoutHost(req, res) || listener(req, res),
  );
  return server.on('clientError', (error, socket) => answerClientError(error, socket, headLimitBytes));
}

/** Servers on several addresses with one port. */
export interface ListeningOnAll {
  readonly port: number;
  readonly servers: readonly Server[];
}

/**
 * Listens on each address, all with the port of the first. Of several, those that this machine does not have are left
 * out, such as `::1` without IPv6.
 *
 * @throws Failure as {@link listenOn}; no server is left open then
 */
export async function listenOnAll(
  hosts: readonly string[],
  { onLeftOut, ...options }: Omit<ListenOptions, 'host'> & { readonly onLeftOut: (message: string) => void },
): Promise<ListeningOnAll> {
  const servers: Server[] = [];
  let { port } = options;
  for (const [index, host] of hosts.entries()) {
    const own = servers.length === 0 ? options : { ...options, onMoved: undefined };
    try {
      const one = await listenOn({ ...own, host, port, isAlone: hosts.length === 1 });
      servers.push(one.server);
      port = one.port;
    } catch (error) {
      const isLast = index === hosts.length - 1;
      if (isNoAddress(error) && !(isLast && servers.length === 0)) onLeftOut(messageOf(error));
      else {
        for (const server of servers) server.close();
        throw error;
      }
    }
  }
  return { servers, port };
}

function isNoAddress(error: unknown): boolean {
  const { code } = Object(Object(error).cause) as NodeJS.ErrnoException;
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT';
}

function opened(server: Server, { port, host, isAlone = true }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, ipv6Only: !isAlone }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function listenProblem(code: string | undefined, { host, port }: ListenOptions, error: Error): string {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} is taken${byWhom(port)}`;
    case 'EACCES':
      return `port ${port} may not be used: those below 1024 need more rights`;
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'ENOTFOUND':
      return `${JSON.stringify(host)} is not an address of this machine`;
    default:
      return `cannot listen on ${host}:${port}: ${error.message}`;
  }
}

function hintFor(code: string | undefined, chosenBy: string): string {
  return code === 'EADDRINUSE' || code === 'EACCES' ? `; another can be chosen with ${chosenBy}` : '';
}

/** Closes the server once responses in progress are sent; cuts off the rest after a short time. */
export async function closeServer(server: Server, clock: Clock): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  await Promise.race([closed, sleep(clock, LAST_BYTES_MS)]);
  server.closeAllConnections();
}

/** ` by process 123 (node)`, or empty. */
export function byWhom(port: number): string {
  const holder = portHolder(port);
  return holder === undefined ? '' : ` by ${holder}`;
}
