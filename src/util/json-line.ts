import { hostname } from 'node:os';
import { isError } from '../errors.ts';
import { VERSION } from '../version.ts';
import { loggedError } from './logged-error.ts';

/** What a line of the JSON log says beside the details. */
export interface LineHead {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly appId: string;
  readonly message: string;
}

/**
 * A line of the JSON log, without the line end, for the library and the command alike. The head has the fields of
 * daprd's (https://docs.dapr.io/operations/observability/logging/logs/), so that what reads those reads these, too.
 * Details do not replace them.
 */
export function jsonLine({ level, at, appId, message }: LineHead, details: object): string {
  const head = {
    time: new Date(at).toISOString(),
    level,
    type: 'log',
    scope: 'insidecar',
    app_id: appId,
    instance: hostname(),
    ver: VERSION,
    msg: message,
  };
  return asJson({ ...head, ...details, ...head }) ?? JSON.stringify(head);
}

/** Details may contain values that JSON cannot represent: log the message without them then. */
function asJson(value: object): string | undefined {
  try {
    return JSON.stringify(value, replaceErrors);
  } catch {
    return undefined;
  }
}

function replaceErrors(_key: string, value: unknown): unknown {
  return isError(value) ? loggedError(value) : value;
}
