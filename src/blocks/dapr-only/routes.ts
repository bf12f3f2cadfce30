import { SidecarError } from '../../errors.ts';
import { headerOf, NO_CONTENT, type SidecarRequest, type SidecarResponse } from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';
import { parseGoBoolean } from '../../util/go-boolean.ts';
import type { Logger } from '../../util/logger.ts';
import { ABSENT_BLOCKS, type AbsentBlock } from './absent-blocks.ts';

/** The header of a shutdown that waits for nothing. */
const FORCED = 'dapr-force-shutdown';

/** The parts that a client may shut down. */
export interface ShutdownHost {
  /** Throws when the sidecar accepts no requests. */
  readonly admit: () => void;
  /** Called before the response is on its way; must not throw. */
  readonly shutDown: (isForced: boolean) => void;
}

const VERSIONS = ['v1.0', 'v1.0-alpha1', 'v1.0-alpha2', 'v1.0-beta1'];

/**
 * Routes for Dapr's clients beside the API that both wires share: shutdown, and an error for unsupported APIs that says
 * so instead of reporting an unknown path. The first use of each is warned of: applications hide such errors.
 *
 */
export function daprOnlyRoutes(host: ShutdownHost, logger: Logger): Route[] {
  const shutDown = ({ headers }: SidecarRequest): SidecarResponse => {
    const isForced = parseGoBoolean(headerOf(headers, FORCED) ?? '') === true;
    if (!isForced) host.admit();
    host.shutDown(isForced);
    return NO_CONTENT;
  };
  return [
    // Open: a stop that hangs can still be forced.
    route('shutdown', ['POST'], '/v1.0/shutdown', shutDown, { open: true, isMinor: false }),
    ...ABSENT_BLOCKS.flatMap((block) => absentRoutes(block, logger)),
  ];
}

function absentRoutes({ what, operations }: AbsentBlock, logger: Logger): Route[] {
  let isTold = false;
  const refuse = ({ method, path }: SidecarRequest): never => {
    const problem = `insidecar does not serve ${what}`;
    if (!isTold) logger.warn({ method, path }, `the application gets 404 for a request: ${problem}`);
    isTold = true;
    throw new SidecarError(
      'ERR_NOT_FOUND',
      `${problem}: expected publish, jobs, invoke, workflows, state, secrets, configuration, lock, bindings, actors, metadata or healthz`,
    );
  };
  return operations.flatMap((operation) =>
    VERSIONS.map((version) => route(operation, ['*'], `/${version}/${operation}/*rest`, refuse)),
  );
}
