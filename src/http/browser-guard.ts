import { SidecarError } from '../errors.ts';
import { type HeaderMap, headerOf, type SidecarRequest } from './message.ts';

/** The pattern of a host's name, without a port. */
export const HOST_NAME = '^(?:\\[[0-9A-Fa-f:.]+\\]|[^\\s:/*[\\]]+)$';

export interface BrowserGuardOptions {
  /**
   * The names of the listener beside those that always are, in any case. One without a port is a name at every port, and
   * pages of its default port may call; one with a port is a name, whose pages are those of this port.
   */
  readonly hosts: readonly string[];
  /** Whether the pages of an origin may use it. */
  readonly allowsOrigin?: ((origin: string) => boolean) | undefined;
  /** The header field of requests of other sidecars, which may carry what their callers got from a browser. */
  readonly peerField?: string;
}

/**
 * Programs of this host connect from these, whichever loopback address they connect to. Others are of proxies:
 * Istio passes on from 127.0.0.6 what came over the network.
 */
const THIS_HOST = /^(?:::1|(?:::ffff:)?127\.0\.0\.1)$/i;
/** Names and addresses that a browser takes for those of its own host. */
const LOOPBACK = /^(?:(?:.+\.)?localhost|127(?:\.\d+){1,3}|\[::1\])$/;
/** Numbers are no name, so they are an address, in whatever form. */
const ADDRESS = /^(?:\[.*\]|[\d.]+)$/;
/** It stands for every address of a host. Browsers take requests to it for those to another site, and do not say so. */
const UNSPECIFIED = /^(?:[0.]+|\[[0:.]*\]|\[[0:]*:ffff:[0:.]*\])$/;
/** Names that are not in the public DNS (RFC 6762; ICANN on `internal`): no stranger's page can have one. */
const PRIVATE_SUFFIX = /\.(?:local|internal)$/;
/** PowerShell calls itself by the name of a browser. */
const BROWSER_AGENT = /^Mozilla\/(?!.*PowerShell\/)/;
/** Documents that a browser shows, and workers that it keeps between pages: they act in this origin. */
const DOCUMENTS: ReadonlySet<string> = new Set([
  ...['document', 'iframe', 'frame', 'fencedframe', 'object', 'embed', 'serviceworker'],
]);
const AUTHORITY = /^https?:\/\/([^/?#]+)/;
/**
 * A name of loopback, one of the listener, or neither: one that cannot be in the public DNS, as those of containers and of
 * the local network, or one that somebody could own.
 */
type HostKind = 'loopback' | 'own' | 'private' | 'public';

/** Limits of the hosts that are remembered: a client chooses them. */
const REMEMBERED = { hosts: 100, length: 100 };

/**
 * Tells requests that the page of a stranger has a browser send. There are three: those of a page of another origin; those
 * that open the answer as a page, which would be one of this origin; and those of a page whose name suddenly leads here
 * (DNS rebinding). A browser tells the first two by `Sec-Fetch-*`, `Origin` and `Upgrade-Insecure-Requests`. Of the third
 * only `Host` tells: browsers send `Sec-Fetch-*` over TLS and to loopback names only, and no `Origin` with a GET.
 */
export class BrowserGuard {
  readonly #hosts: ReadonlySet<string>;
  /** The hosts whose pages may call, as an `Origin` writes them. */
  readonly #pageHosts: ReadonlySet<string>;
  readonly #allowsOrigin: BrowserGuardOptions['allowsOrigin'];
  readonly #peerField: string | undefined;
  /** Kinds of the values of `Host`: nearly every request has the same. */
  readonly #remembered = new Map<string, HostKind>();

  constructor({ hosts, allowsOrigin, peerField }: BrowserGuardOptions) {
    this.#hosts = new Set(hosts.map(nameOf));
    this.#pageHosts = new Set(hosts.map((host) => host.toLowerCase()));
    this.#allowsOrigin = allowsOrigin;
    this.#peerField = peerField;
  }

  /** Why a request is refused; `undefined` if it is not. */
  problemOf(request: SidecarRequest): string | undefined {
    const { headers } = request;
    // A page of another origin cannot set the field without asking.
    if (this.#peerField !== undefined && headers[this.#peerField] !== undefined) return this.hostProblem(request);
    if (opensPage(headers)) return 'a browser would open the answer as a page of this origin';
    const origin = headerOf(headers, 'origin');
    if (origin !== undefined && this.#allowsOrigin?.(origin) === true) return undefined;
    return this.hostProblem(request) ?? siteProblem(headers) ?? this.#pageProblem(origin, headers);
  }

  /**
   * A name that is not one of the listener. A browser has to use one. Others may use any, but not on this host, where
   * the page of a stranger can make a browser pass for another client.
   */
  hostProblem(request: SidecarRequest, isThisHost?: boolean): string | undefined {
    const { headers } = request;
    const host = hostOf(headers);
    // A browser sends it, and so does every client of HTTP/1.1.
    if (host === undefined || host === '') return undefined;
    const kind = this.#kindOf(host);
    if (kind === 'loopback' || kind === 'own') return undefined;
    const isForAll = kind === 'public' && (isThisHost ?? isOfThisHost(request.remoteAddress));
    if (!isForAll && !isBrowser(headers)) return undefined;
    return `${shown(host)} is no name of this listener`;
  }

  /** A page of another origin, by its address. */
  #pageProblem(origin: string | undefined, headers: HeaderMap): string | undefined {
    const host = hostOf(headers);
    const page = origin ?? (this.#hidesPage(host, headers) ? (headerOf(headers, 'referer') ?? '') : undefined);
    if (page === undefined) return undefined;
    const [, authority = ''] = AUTHORITY.exec(page.toLowerCase()) ?? [];
    if (authority !== '' && (authority === host?.toLowerCase() || this.#pageHosts.has(authority))) return undefined;
    return page === ''
      ? 'the request is of a browser that does not say of which page'
      : `the request is of a page of another origin (${shown(page)})`;
  }

  /** Over plain HTTP to another host, a browser says of a GET no more than its page's address, if the page lets it. */
  #hidesPage(host: string | undefined, headers: HeaderMap): boolean {
    if (host === undefined || headers['sec-fetch-site'] !== undefined || this.#kindOf(host) === 'loopback')
      return false;
    return BROWSER_AGENT.test(headerOf(headers, 'user-agent') ?? '');
  }

  #kindOf(host: string): HostKind {
    const remembered = this.#remembered.get(host);
    if (remembered !== undefined) return remembered;
    const kind = this.#kindOfName(nameOf(host));
    if (host.length <= REMEMBERED.length && this.#remembered.size < REMEMBERED.hosts) this.#remembered.set(host, kind);
    return kind;
  }

  #kindOfName(name: string): HostKind {
    if (LOOPBACK.test(name)) return 'loopback';
    if (this.#hosts.has(name) || (ADDRESS.test(name) && !UNSPECIFIED.test(name))) return 'own';
    return name.includes('.') && !PRIVATE_SUFFIX.test(name) ? 'public' : 'private';
  }
}

/** An error of status 403. */
export function forbidden(message: string): SidecarError {
  return new SidecarError('ERR_UNAUTHORIZED', message, { status: 403 });
}

export function isOfThisHost(remoteAddress: string | undefined): boolean {
  return remoteAddress !== undefined && THIS_HOST.test(remoteAddress);
}

/** The host that a request is for, with its port. */
export function hostOf(headers: HeaderMap): string | undefined {
  return headerOf(headers, 'host') ?? headerOf(headers, ':authority');
}

function nameOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
}

/** `Sec-Fetch-Mode` alone is no sign: Node's fetch sends it. */
function isBrowser(headers: HeaderMap): boolean {
  return (
    headers['sec-fetch-site'] !== undefined ||
    headers['origin'] !== undefined ||
    headers['upgrade-insecure-requests'] !== undefined ||
    BROWSER_AGENT.test(headerOf(headers, 'user-agent') ?? '')
  );
}

function opensPage(headers: HeaderMap): boolean {
  return (
    headers['sec-fetch-mode'] === 'navigate' ||
    headers['upgrade-insecure-requests'] !== undefined ||
    DOCUMENTS.has(headerOf(headers, 'sec-fetch-dest') ?? '')
  );
}

/** A page of another origin, as far as the browser says. */
export function siteProblem(headers: HeaderMap): string | undefined {
  const site = headerOf(headers, 'sec-fetch-site');
  if (site === undefined || site === 'same-origin' || site === 'none') return undefined;
  return `the request is of a page of another origin (${shown(site)})`;
}

const MAX_SHOWN = 100;

function shown(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}
