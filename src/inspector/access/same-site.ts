import { headerOf, type SidecarRequest } from '../../http/message.ts';
import { isLoopback } from '../../util/loopback.ts';
import { forbidden } from './refusal.ts';

/** The header field of writes: no page of another origin can set it without asking. */
const WRITE_HEADER = 'insidecar-inspector';

const OWN_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Refuses a name that is not known to lead to this host: the page of a stranger whose name suddenly leads here would
 * otherwise count as the inspector's own (DNS rebinding). It is looked at where only this host can connect, or, if that
 * cannot be known, where nothing else guards the inspector.
 */
export function checkHost(request: SidecarRequest, allowed: readonly string[], isOpen: boolean): void {
  const { remoteAddress, headers } = request;
  if (remoteAddress === undefined ? !isOpen : !isLoopback(remoteAddress)) return;
  const host = headerOf(headers, 'host') ?? headerOf(headers, ':authority');
  // Made by code of this process: a request that came over a connection has one.
  if (host === undefined && remoteAddress === undefined) return;
  const name = (host ?? '').replace(/:\d*$/, '').toLowerCase();
  if (OWN_NAMES.has(name) || name.endsWith('.localhost')) return;
  if (allowed.some((one) => one.toLowerCase() === name)) return;
  throw forbidden(
    `the inspector is not reached by the name ${JSON.stringify(name)} on this host: expected localhost, 127.0.0.1, [::1] or one of the option hosts`,
  );
}

/** Refuses calls of the API by pages of other origins, as far as the browser tells. */
export function checkOrigin({ headers }: SidecarRequest): void {
  const site = headerOf(headers, 'sec-fetch-site');
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw forbidden(`the API of the inspector is called by its own page only: the request is ${JSON.stringify(site)}`);
}

/** Refuses a `POST` that the page of another origin could have sent without being asked whether it may. */
export function checkWrite({ headers }: SidecarRequest): void {
  if (headerOf(headers, WRITE_HEADER) !== '1') throw forbidden(`a POST needs the header ${WRITE_HEADER}: 1`);
  const type = headerOf(headers, 'content-type') ?? '';
  if (!/^application\/json\s*(?:;|$)/i.test(type))
    throw forbidden(`a POST needs the content type application/json: actual is ${JSON.stringify(type)}`);
}
