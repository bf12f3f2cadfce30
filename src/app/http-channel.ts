import { connect } from 'node:net';
import { directClient } from '../http/direct-client.ts';
import type { AppTransport } from './transport.ts';

const PROBE_TIMEOUT_MS = 500;

/** The application listens on a port: HTTP/1.1 with keep-alive. */
export function portTransport(port: number, host: string, headLimitBytes?: number): AppTransport {
  const client = directClient(host, port, headLimitBytes);
  return {
    address: { host, port, protocol: 'http' },
    handle: client.handle,
    isReachable: () => accepts(port, host),
    close: () => client.close(),
  };
}

/** Whether the port takes a TCP connection. The time-out is in real time: it bounds the network. */
export function accepts(port: number, host: string): Promise<boolean> {
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
