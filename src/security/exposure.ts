import type { SidecarRequest } from '../http/message.ts';
import type { Logger } from '../util/logger.ts';

/** `::ffff:127.0.0.1` is how a socket for both families tells of 127.0.0.1. */
const LOOPBACK = /^(?:::1$|(?:::ffff:)?127\.)/i;

/**
 * Warns, once, of a request from another host to an API that asks for no token; `tokenName` is the environment variable
 * that would set one. What a proxy on this host passes on comes from this host, and so nothing is said of it.
 */
export function exposureWarning(logger: Logger, tokenName: string): (request: SidecarRequest) => void {
  let isTold = false;
  return ({ remoteAddress }) => {
    if (isTold || remoteAddress === undefined || LOOPBACK.test(remoteAddress)) return;
    isTold = true;
    logger.warn(
      { remoteAddress },
      `the API answers other hosts without a token: whoever reaches it may publish, schedule jobs and call what this process can reach. Set apiToken (${tokenName}), or let it listen on 127.0.0.1 only`,
    );
  };
}
