import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NodeListener } from '../../adapters/node.ts';
import { HEAD_LIMIT_BYTES } from '../../http/head-limit.ts';
import { type Clock, sleep } from '../../util/clock.ts';
import { nodeHttp } from '../../util/node-http.ts';
import { Failure } from '../failure.ts';
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
  readonly listener: NodeListener;
  /** The largest head of a request. Default 16 KiB. */
  readonly headLimitBytes?: number;
  /** Called if the port is taken and a free one is used instead; without it, a taken port is an error. */
  readonly onMoved?: (message: string) => void;
  /** The flag or field that sets the port. */
  readonly chosenBy: string;
}

/** A listening server. */
export interface Listening {
  readonly port: number;
  /** Accepts no new connections; open ones end when `end` is called. */
  readonly server: Server;
}

/** @throws Failure naming the port, and its holder if known. */
export async function listenOn(options: ListenOptions): Promise<Listening> {
  const { host, port, onMoved, chosenBy } = options;
  const server = serverOf(options);
  try {
    await opened(server, port, host);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const message = listenProblem(code, options, error as Error);
    if (code !== 'EADDRINUSE' || onMoved === undefined)
      throw new Failure(`${message}${hintFor(code, chosenBy)}`, 1, error);
    await opened(server, 0, host);
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

function opened(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
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
