import type { SidecarRequest } from '../http/message.ts';
import type { Logger } from '../util/logger.ts';
import { isLoopback } from '../util/loopback.ts';
import { SECRET_VARIABLE } from './identity-options.ts';

/**
 * Warns once of a request from another host. Requests through a proxy on this host come from this host and are not
 * noticed.
 */
function onceFromElsewhere(logger: Logger, message: string): (request: SidecarRequest) => void {
  let isTold = false;
  return ({ remoteAddress }) => {
    if (isTold || remoteAddress === undefined || isLoopback(remoteAddress)) return;
    isTold = true;
    logger.warn({ remoteAddress }, message);
  };
}

/** Warns of an API without a token; `tokenName` is the environment variable that sets one. */
export function exposureWarning(logger: Logger, tokenName: string): (request: SidecarRequest) => void {
  return onceFromElsewhere(
    logger,
    `the API answers other hosts without a token: whoever reaches it may publish, schedule jobs and call what this process can reach. Set apiToken (${tokenName}), or let it listen on 127.0.0.1 only`,
  );
}

/** Warns of a port for other sidecars (`sidecar.peers`) on which callers that prove nothing reach the application. */
export function strangerWarning(logger: Logger, hasIdentity: boolean): (request: SidecarRequest) => void {
  const remedy = hasIdentity
    ? "Set accessControl with defaultAction: 'deny'"
    : `Set identity (${SECRET_VARIABLE}) and accessControl`;
  return onceFromElsewhere(
    logger,
    `sidecar.peers answers other hosts that do not prove who they are: whoever reaches its port may call the application. It gets such calls without a caller and without appToken. ${remedy}, or let it listen on 127.0.0.1 only`,
  );
}
