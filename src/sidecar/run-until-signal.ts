import { invalidArgument } from '../util/option-fields.ts';
import { shown } from '../util/shown.ts';
import { clearTimeout, setTimeout } from '../util/timers.ts';
import type { Sidecar } from './sidecar.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** How long a server may take to close after the sidecar has stopped. */
const CLOSING_MS = 5_000;

/** A server of node:http, a Fastify or Nest application, or what else has `close`. @public */
export interface ClosableServer {
  /** Takes a callback, or returns a promise. */
  close(closed?: (error?: Error) => void): unknown;
  /** Closes what keeps `close` from ending. */
  closeAllConnections?(): void;
}

/**
 * Runs until the process gets `SIGINT`, `SIGTERM` or `SIGHUP`, or until the sidecar is stopped otherwise. Then stops the
 * sidecar, which lets messages, jobs and responses in flight end, and closes the servers: in this order, since the
 * sidecar may still need the application. Connections of servers that are open 5 s later are cut off. A second signal
 * ends the process at once.
 *
 * @param sidecar - started
 * @param servers - those of the application and of the sidecar
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for what is no sidecar, or has no `close`; nothing is stopped then.
 * @throws the error of `stop()`, or of a server that could not close, after everything was tried.
 * @example
 * ```ts
 * await sidecar.start();
 * await runUntilSignal(sidecar, createServer(app).listen(3000));
 * ```
 * @public
 */
export async function runUntilSignal(sidecar: Sidecar, ...servers: readonly ClosableServer[]): Promise<void> {
  checkArguments(sidecar, servers);
  await signalOrStop(sidecar);
  const stopped = await Promise.allSettled([sidecar.stop()]);
  const closed = await Promise.allSettled(servers.map(closeServer));
  for (const result of [...stopped, ...closed]) if (result.status === 'rejected') throw result.reason;
}

function checkArguments(sidecar: Sidecar, servers: readonly ClosableServer[]): void {
  if (typeof Object(sidecar).stop !== 'function' || typeof Object(Object(sidecar).events).on !== 'function')
    throw invalidArgument(`sidecar of runUntilSignal is ${shown(sidecar)}: expected a Sidecar`, 'sidecar');
  for (const [index, server] of servers.entries())
    if (typeof Object(server).close !== 'function')
      throw invalidArgument(
        `server ${index} of runUntilSignal is ${shown(server)}: expected what has close(), such as app.listen(3000)`,
        `servers.${index}`,
      );
}

function signalOrStop(sidecar: Sidecar): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      // From here on, a signal does what it does without a listener.
      for (const signal of SIGNALS) process.off(signal, end);
      sidecar.events.off('sidecarStopping', end);
      resolve();
    };
    for (const signal of SIGNALS) process.on(signal, end);
    sidecar.events.on('sidecarStopping', end);
    if (sidecar.isStopping) end();
  });
}

function closeServer(server: ClosableServer): Promise<void> {
  return new Promise((resolve, reject) => {
    const cutOff = setTimeout(() => server.closeAllConnections?.(), CLOSING_MS);
    const end = (error?: unknown): void => {
      clearTimeout(cutOff);
      if (error == null || Object(error).code === 'ERR_SERVER_NOT_RUNNING') resolve();
      else reject(error);
    };
    const closing = server.close(end);
    if (typeof Object(closing).then === 'function') Promise.resolve(closing).then(() => end(), end);
  });
}
