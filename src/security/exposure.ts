import type { SidecarRequest } from '../http/message.ts';
import type { Logger } from '../util/logger.ts';
import { isLoopback } from '../util/loopback.ts';

/**
 * Warns once of a request from another host to an API without a token; `tokenName` is the environment variable that
 * sets one. Requests through a proxy on this host come from this host and are not noticed.
 */
export function exposureWarning(logger: Logger, tokenName: string): (request: SidecarRequest) => void {
  let isTold = false;
  return ({ remoteAddress }) => {
    if (isTold || remoteAddress === undefined || isLoopback(remoteAddress)) return;
    isTold = true;
    logger.warn(
      { remoteAddress },
      `the API answers other hosts without a token: whoever reaches it may publish, schedule jobs and call what this process can reach. Set apiToken (${tokenName}), or let it listen on 127.0.0.1 only`,
    );
  };
}
