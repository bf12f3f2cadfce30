import { messageOf } from '../../errors.ts';

/** A refusal of the server, or an error of the connection. */
export interface AmqpFailure {
  /** The code of AMQP, such as 404; `undefined`: the connection failed. */
  readonly code: number | undefined;
  /** The name of the exchange or queue that the server complains about; empty for the default exchange. */
  readonly subject: string | undefined;
  /** The size of the message that is too large for the server. */
  readonly size: number | undefined;
  readonly text: string;
}

export const NOT_FOUND = 404;
export const PRECONDITION_FAILED = 406;
export const NO_ROUTE = 312;
const CONNECTION_FORCED = 320;
/** The server's name of the exchange without a name. */
const DEFAULT_EXCHANGE = 'amq.default';

/** Reads an error of the driver. */
export function failureOf(error: unknown): AmqpFailure {
  const text = messageOf(error);
  const { code } = Object(error) as { readonly code?: unknown };
  const isRefusal = typeof code === 'number' && code !== CONNECTION_FORCED;
  const [, subject] = /(?:exchange|queue) '(.*)' in vhost '/.exec(text) ?? [];
  const [, size] = /message size (\d+) is larger/.exec(text) ?? [];
  return {
    code: isRefusal ? code : undefined,
    subject: subject === DEFAULT_EXCHANGE ? '' : subject,
    size: size === undefined ? undefined : Number(size),
    text: reasonOf(text),
  };
}

/** Whether the driver refuses an operation, because its channel or connection is closed. */
export function isClosed(error: unknown): boolean {
  return Object(error).name === 'IllegalOperationError';
}

/** Whether the server refuses the operation with this code. */
export function isRefused(error: unknown, code: number): boolean {
  return failureOf(error).code === code;
}

/** The reason that the server gives, without what the driver puts before it. */
function reasonOf(text: string): string {
  return /"(?:[A-Z_]+ - )?(.*)"$/s.exec(text)?.[1] ?? text;
}

/** A difference between what exists and what is asked for. */
export interface DeclarationMismatch {
  /** The setting, such as `x-queue-type`, `type` or `auto_delete`. */
  readonly setting: string;
  readonly isTrueNow: boolean;
}

/** Reads which setting differs, from the error of a declaration. */
export function mismatchOf(error: unknown): DeclarationMismatch | undefined {
  const { code, text } = failureOf(error);
  const [, setting] = /inequivalent arg '([^']+)'/.exec(text) ?? [];
  if (code !== PRECONDITION_FAILED || setting === undefined) return undefined;
  return { setting, isTrueNow: /but current is 'true'/.test(text) };
}
