import { StateError } from '../../state/errors.ts';
import { ConnectionLostError, SessionClosedError } from '../remote/connection.ts';

/** The first word of an error that Redis answers. */
const CODE = /^([A-Z]+)\b/;
/** The node is coming up, is a replica now, or does not hold the keys any more. */
const LOST = new Set([
  'LOADING',
  'READONLY',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'MOVED',
  'ASK',
  'BUSY',
  'UNBLOCKED',
]);
const FULL = new Set(['OOM', 'MISCONF']);

/** Where another node of a cluster holds the keys: `MOVED 1234 host:port`. */
export function movedTo(error: unknown): { readonly host: string; readonly port: number } | undefined {
  const found = /^MOVED \d+ (.*):(\d+)$/.exec((error as Error).message);
  return found === null ? undefined : { host: found[1] ?? '', port: Number(found[2]) };
}

/** What an error of the driver means. One that Redis has not answered is one of the connection. */
export function errorOf(error: unknown, server: string): Error {
  if (error instanceof StateError || error instanceof ConnectionLostError) return error;
  const { message, code: reason } = error as Error & { readonly code?: unknown };
  const [code = ''] = CODE.exec(message) ?? [];
  if (!isReply(error) || LOST.has(code))
    return new ConnectionLostError(message || String(reason ?? error), { cause: error });
  if (code === 'SESSIONCLOSED') return new SessionClosedError(message);
  if (FULL.has(code)) return new StateError('full', `${server} takes no more: ${message}.`, error);
  return new StateError('failed', `${server} reports: ${message}.`, error);
}

/** Whether Redis has answered it: the classes are the driver's. */
function isReply(error: unknown): boolean {
  const { name } = (error as Error).constructor;
  return name === 'SimpleError' || name === 'BlobError' || name === 'ErrorReply';
}
