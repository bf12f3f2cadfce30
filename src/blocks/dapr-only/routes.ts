import { SidecarError } from '../../errors.ts';
import { NO_CONTENT } from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';

/** What of Dapr's API there is not, by the first segment of its paths. */
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
 * What Dapr's clients expect of a sidecar beside the API that both sets of names share: they can shut it down, and are
 * told what there is not rather than that a path is unknown.
 *
 * @param shutDown - is called once the answer is on its way; must not throw
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
