import { StateError } from '../../state/errors.ts';
import { ConnectionLostError, SessionClosedError } from '../remote/connection.ts';
import { tlsErrorOf } from '../remote/tls-errors.ts';
import type { NodeAddress } from './target.ts';

/** The first word of an error reply. */
const CODE = /^([A-Z]+)\b/;
/** The node is starting, has become a replica, has too few replicas for now, or no longer holds the keys. */
const LOST = new Set([
  'LOADING',
  'READONLY',
  'MASTERDOWN',
  'NOREPLICAS',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'MOVED',
  'ASK',
  'BUSY',
  'UNBLOCKED',
]);
const FULL = new Set(['OOM', 'MISCONF']);
/** The server has as many clients as it takes (`maxclients`): its reply to a new connection. */
const CROWDED = /^ERR max number of clients\b/;

/** The cluster node that holds the keys, from `MOVED 1234 host:port`. */
export function movedTo(error: unknown): NodeAddress | undefined {
  return redirectionOf('MOVED', error);
}

/** The cluster node that a key is moving to, from `ASK 1234 host:port`. */
export function askedOf(error: unknown): NodeAddress | undefined {
  return redirectionOf('ASK', error);
}

/** Whether keys of one command are at two nodes, as their slot is moving. Nothing was executed. */
export function isBetweenNodes(error: unknown): boolean {
  return codeOf(error as Error) === 'TRYAGAIN';
}

function redirectionOf(word: string, error: unknown): NodeAddress | undefined {
  const [first, , address = ''] = (error as Error).message.split(' ');
  const found = first === word ? /^(.*):(\d+)$/.exec(address) : null;
  return found === null ? undefined : { host: found[1] ?? '', port: Number(found[2]) };
}

/** Whether the server that answers so takes no changes, now or any more: another one may. */
export function isStale(error: unknown): boolean {
  return isReply(error) && ['READONLY', 'LOADING', 'MASTERDOWN'].includes(codeOf(error as Error));
}

function codeOf({ message }: Error): string {
  return CODE.exec(message)?.[1] ?? '';
}

/** Converts an error of the driver. An error that is not a reply of Redis is a connection error. */
export function errorOf(error: unknown, server: string): Error {
  if (error instanceof StateError || error instanceof ConnectionLostError) return error;
  const tlsError = tlsErrorOf(error, server);
  if (tlsError !== undefined) return tlsError;
  const { message, code: reason } = error as Error & { readonly code?: unknown };
  const code = codeOf(error as Error);
  if (!isReply(error) || LOST.has(code) || CROWDED.test(message))
    return new ConnectionLostError(message || String(reason ?? error), { cause: error });
  if (code === 'SESSIONCLOSED') return new SessionClosedError(message);
  if (FULL.has(code)) return new StateError('full', `${server} takes no more: ${message}.`, error);
  return new StateError('failed', `${server} reports: ${message}.`, error);
}

/** Whether an error is a reply of Redis, by the driver's class names. */
function isReply(error: unknown): boolean {
  const { name } = (error as Error).constructor;
  return name === 'SimpleError' || name === 'BlobError' || name === 'ErrorReply';
}
