import {
  cancelTokenOf,
  type HeaderMap,
  headerOf,
  PlainRequest,
  requestTarget,
  type SidecarRequest,
  type SidecarResponse,
} from '../../http/message.ts';
import type { Destination } from './destination.ts';

type ServiceKind = NonNullable<Destination['service']>;

/** Fields that act on an origin rather than on one response: they would act on that of the API. */
const OF_ORIGIN: readonly string[] = [
  ...['clear-site-data', 'service-worker-allowed', 'strict-transport-security'],
  ...['alt-svc', 'nel', 'report-to', 'reporting-endpoints'],
];
/** A browser keeps cookies by host, without the port: they belong to all that runs on this host, and not to a URL. */
const COOKIES: readonly string[] = ['set-cookie', 'set-cookie2'];
const DROPPED: Readonly<Record<ServiceKind, readonly string[]>> = {
  endpoint: OF_ORIGIN,
  url: [...OF_ORIGIN, ...COOKIES],
};

/** The request of an API client as a service gets it. */
export function toService(request: SidecarRequest, kind: ServiceKind): SidecarRequest {
  const { method, headers, body } = request;
  const changed: Record<string, string | undefined> = {};
  if (kind === 'url' && headers['cookie'] !== undefined) changed['cookie'] = undefined;
  // The browser has told the relation of its page to the API. To the service, the page is one of another site.
  if (headers['sec-fetch-site'] !== undefined) changed['sec-fetch-site'] = 'cross-site';
  if (Object.keys(changed).length === 0) return request;
  const fields: HeaderMap = { ...headers, ...changed };
  return new PlainRequest(method, requestTarget(request), fields, body, cancelTokenOf(request));
}

/**
 * The response of a service as API clients get it. A browser that shows it must not take it for a page of the API: the
 * policy gives it an origin of its own, without scripts. Policies in one field all hold, so that of the service stays.
 */
export function fromService(response: SidecarResponse, kind: ServiceKind): SidecarResponse {
  const headers: Record<string, string | readonly string[] | undefined> = { ...response.headers };
  for (const name of DROPPED[kind]) delete headers[name];
  const policy = headerOf(response.headers, 'content-security-policy');
  headers['content-security-policy'] = policy === undefined || policy === '' ? 'sandbox' : `${policy}, sandbox`;
  headers['x-content-type-options'] = 'nosniff';
  return { ...response, headers };
}
