import { afterEach } from 'vitest';
import { nodeHandler } from '../../src/adapters/node.ts';
import { type ActorClass, Sidecar, type SidecarOptions } from '../../src/index.ts';
import { type InspectOptions, type Inspector, inspect } from '../../src/inspector/index.ts';
import { type Answer, listen, type RequestHeaders, send } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';

export const TOKEN = 'the-token-of-the-inspector';

/** What every write of the page carries. */
export const WRITE: RequestHeaders = { 'insidecar-inspector': '1', 'content-type': 'application/json' };

/** A sidecar with an inspector behind a real server. */
export interface Inspected {
  readonly sidecar: Sidecar;
  readonly inspector: Inspector;
  readonly logger: RecordingLogger;
  readonly url: string;
  /** A call below `api/v1/`, with the token. */
  get(path: string, headers?: RequestHeaders): Promise<Answer>;
  post(path: string, body: unknown, headers?: RequestHeaders): Promise<Answer>;
  /** Any request, as it is. */
  send(method: string, path: string, sent?: { headers?: RequestHeaders; body?: unknown }): Promise<Answer>;
}

const toEnd: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end();
});

/** What the test has opened is closed after it. */
export function untilEnd(one: AsyncDisposable): void {
  toEnd.push(async () => one[Symbol.asyncDispose]());
}

/** Options of the sidecar, and the classes of its actors. */
export interface InspectedOptions extends SidecarOptions {
  readonly actors?: readonly ActorClass[];
}

export async function inspected(
  { actors = [], ...options }: InspectedOptions = {},
  inspectOptions: InspectOptions = { token: TOKEN },
): Promise<Inspected> {
  const logger = new RecordingLogger();
  const sidecar = new Sidecar({ appId: 'shop', logger, stopTimeout: 100, ...options });
  for (const actorClass of actors) sidecar.actors.register(actorClass);
  untilEnd(sidecar);
  await sidecar.start();
  const inspector = inspect(sidecar, inspectOptions);
  const server = await listen(nodeHandler(inspector));
  untilEnd(server);
  const { url } = server;
  const bearer = { authorization: `Bearer ${TOKEN}` };
  return {
    ...{ sidecar, inspector, logger, url },
    get: (path, headers) => send(url, 'GET', `/api/v1/${path}`, { headers: { ...bearer, ...headers } }),
    post: (path, body, headers) =>
      send(url, 'POST', `/api/v1/${path}`, { headers: { ...bearer, ...WRITE, ...headers }, body }),
    send: (method, path, sent) => send(url, method, path, sent),
  };
}
