import { readBody } from '../../http/body.ts';
import { readContent } from '../../http/content.ts';
import { endToEnd } from '../../http/end-to-end.ts';
import {
  cancelTokenOf,
  EMPTY_BODY,
  headerOf,
  NO_CONTENT,
  type SidecarRequest,
  type SidecarResponse,
} from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';
import type { Wire } from '../../wire.ts';
import type { ActorsService } from './actors-service.ts';
import type { ActorAddress } from './model/address.ts';
import { checkMethod, checkTickName } from './model/names.ts';
import { tickRoutes } from './reminders/routes.ts';

export interface ActorRoutesDeps {
  readonly actors: ActorsService;
  readonly wire: Wire;
  readonly bodyLimitBytes: number;
}

/** The names in the path of a call. */
interface CallParams extends ActorAddress {
  readonly method: string;
}

/** The routes of actors: calls and state here, reminders and timers from `reminders/routes.ts`. */
export function actorRoutes({ actors, wire, bodyLimitBytes }: ActorRoutesDeps): Route[] {
  const notPassed = ownFields(wire);
  const call = async (
    request: SidecarRequest,
    { actorType, actorId, method }: CallParams,
  ): Promise<SidecarResponse> => {
    checkMethod(method);
    return actors.call(
      { actorType, actorId },
      {
        method,
        search: request.search,
        headers: endToEnd(request.headers, notPassed),
        body: await readBody(request, bodyLimitBytes),
        chain: headerOf(request.headers, wire.actorRules.chainHeader) || undefined,
        cancel: cancelTokenOf(request),
      },
    );
  };
  const transact = async (request: SidecarRequest, address: ActorAddress): Promise<SidecarResponse> => {
    await actors.transact(address, await readContent(request, bodyLimitBytes));
    return NO_CONTENT;
  };
  const get = async (
    _request: SidecarRequest,
    { key, ...address }: ActorAddress & { readonly key: string },
  ): Promise<SidecarResponse> => {
    const found = await actors.getState(address, key);
    if (found === undefined) return NO_CONTENT;
    const { text, expiresAt, etag } = found;
    const ending = expiresAt === undefined ? undefined : { 'metadata.ttlexpiretime': expiryText(expiresAt) };
    return { status: 200, headers: { 'content-type': 'application/json', etag, ...ending }, body: Buffer.from(text) };
  };
  const path = '/v1.0/actors/:actorType/:actorId';
  const options = { hasKeys: true, isServedToTheEnd: true };
  return [
    route('actors', ['POST', 'PUT', 'GET', 'DELETE'], `${path}/method/:method`, call, { ...options, hasHead: false }),
    route('actors', ['POST', 'PUT'], `${path}/state`, transact, options),
    route('actors', ['GET'], `${path}/state/*key`, get, options),
    ...tickRoutes({
      ...{ reminders: actors.reminders, wire, bodyLimitBytes },
      timers: {
        set: (name, body) => actors.changeTimer(name, 'set', body),
        delete: (name) => actors.changeTimer(name, 'delete', EMPTY_BODY),
      },
      check: (kind, name) => {
        checkTickName(kind, name.name);
        return actors.checkHosted(name);
      },
    }),
  ];
}

/** Header fields that the sidecar sets itself. */
function ownFields({ headers, actorRules }: Wire): ReadonlySet<string> {
  const { chainHeader, cancelHeader, callHeaders } = actorRules;
  return new Set([...Object.values(headers), chainHeader, cancelHeader, ...Object.keys(callHeaders)]);
}

const SECOND_MS = 1_000;

/** When a value ends: RFC 3339 in whole seconds, rounded up. */
function expiryText(expiresAt: number): string {
  return new Date(Math.ceil(expiresAt / SECOND_MS) * SECOND_MS).toISOString().replace('.000Z', 'Z');
}
