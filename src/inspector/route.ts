import type { SidecarRequest, SidecarResponse } from '../http/message.ts';
import type { Sidecar } from '../sidecar/sidecar.ts';
import type { Role } from './api/apps.ts';

/** A call of the management API that is allowed: the role of the caller suffices. */
export interface ApiCall {
  readonly sidecar: Sidecar;
  readonly query: URLSearchParams;
  /** The JSON of a `POST`; `undefined` for a `GET`. */
  readonly body: unknown;
  readonly role: Role;
  /** The caller's identity, if that is known. */
  readonly who: string | undefined;
  readonly request: SidecarRequest;
}

/** The answer of a route: a value as JSON (204 if it is `undefined`), or a response of its own. */
export type ApiAnswer = { readonly json: unknown } | { readonly response: SidecarResponse };

/** A route of the management API. */
export interface ApiRoute {
  readonly method: 'GET' | 'POST';
  /** Below `api/v1/`. */
  readonly path: string;
  /** The permission that the caller needs. */
  readonly needs: Role;
  readonly answer: (call: ApiCall) => Promise<ApiAnswer> | ApiAnswer;
}

/** Routes by path, then by method. */
export type ApiRouteTable = ReadonlyMap<string, ReadonlyMap<string, ApiRoute>>;

export function routeTable(routes: readonly ApiRoute[]): ApiRouteTable {
  const table = new Map<string, Map<string, ApiRoute>>();
  for (const route of routes) {
    const ofPath = table.get(route.path) ?? new Map<string, ApiRoute>();
    if (ofPath.has(route.method)) throw new Error(`two routes are ${route.method} ${route.path}`);
    table.set(route.path, ofPath.set(route.method, route));
  }
  return table;
}
