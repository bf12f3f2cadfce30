import { SidecarError } from '../../errors.ts';
import { NO_CONTENT } from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';

/** Unsupported Dapr APIs, by first path segment. */
const ABSENT: Readonly<Record<string, string>> = {
  actors: 'actors',
  bindings: 'bindings',
  configuration: 'configuration stores',
  conversation: 'conversations',
  crypto: 'cryptography',
  lock: 'distributed locks',
  secrets: 'secret stores',
  state: 'state stores',
  subtlecrypto: 'cryptography',
  unlock: 'distributed locks',
};

const VERSIONS = ['v1.0', 'v1.0-alpha1', 'v1.0-alpha2', 'v1.0-beta1'];

/**
 * Routes for Dapr's clients beside the API that both wires share: shutdown, and an error for unsupported APIs that says
 * so instead of reporting an unknown path.
 *
 * @param shutDown - called once the response is on its way; must not throw
 */
export function daprOnlyRoutes(shutDown: () => void): Route[] {
  return [
    route('shutdown', ['POST'], '/v1.0/shutdown', () => {
      shutDown();
      return NO_CONTENT;
    }),
    ...Object.entries(ABSENT).flatMap(([operation, what]) =>
      VERSIONS.map((version) => route(operation, ['*'], `/${version}/${operation}/*rest`, () => absent(what))),
    ),
  ];
}

function absent(what: string): never {
  throw new SidecarError(
    'ERR_NOT_FOUND',
    `insidecar does not serve ${what}: expected publish, jobs, invoke, workflows, metadata or healthz`,
  );
}
