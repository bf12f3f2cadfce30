import { SidecarError } from '../../errors.ts';
import { type ClientTls, type HttpClient, httpClient } from '../../http/client.ts';
import { optionsSchema } from '../../util/options-schema.ts';
import { validator } from '../../util/schema.ts';
import type { Fields } from './headers.ts';

/** An HTTP service that has no sidecar, called by a name of its own. @public */
export interface HttpEndpointOptions {
  /** What callers call it; goes before an app ID of the same name. */
  readonly name: string;
  /** Where it is, such as `https://api.example.com/v2`; the path of a call is put behind it. */
  readonly baseUrl: string;
  /** Set on every request, in place of the caller's, such as `authorization`. Names in any case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** PEM texts for TLS. */
  readonly clientTLS?: {
    /** The certificates of those who sign for the service. Default: those that Node knows. */
    readonly rootCA?: string;
    /** What the sidecar shows of itself. */
    readonly certificate?: string;
    /** The key of `certificate`. */
    readonly privateKey?: string;
  };
}

const pem = { type: 'string', minLength: 1 } as const;

const LIST = {
  type: 'array',
  items: optionsSchema<HttpEndpointOptions>(
    {
      name: { type: 'string', minLength: 1, maxLength: 256, pattern: '^[^/\\s\\u0000-\\u001f\\u007f]+$' },
      baseUrl: { type: 'string', pattern: '^https?://' },
      headers: { type: 'object', additionalProperties: { type: 'string' } },
      clientTLS: optionsSchema<NonNullable<HttpEndpointOptions['clientTLS']>>({
        rootCA: pem,
        certificate: pem,
        privateKey: pem,
      }),
    },
    ['name', 'baseUrl'],
  ),
};

/** Apart from the other options, whose messages show the value that is wrong: header fields and keys are secret. */
const problemOf = validator(LIST, 'options.httpEndpoints', { secret: true });

/** A place that takes HTTP: an origin, and a path in front of all others. */
export interface Place {
  readonly origin: string;
  /** Without a slash at its end; empty for none. */
  readonly base: string;
}

/** Reads a URL without query, fragment and credentials; `undefined` when it is none. */
export function placeOf(url: string): Place | undefined {
  if (!/^https?:\/\/[^/?#\\@]+(\/[^?#\\]*)?$/i.test(url) || !URL.canParse(url)) return undefined;
  const { origin, pathname } = new URL(url);
  return { origin, base: pathname.replace(/\/+$/, '') };
}

/** A named HTTP service. */
export class HttpEndpoint {
  readonly name: string;
  readonly place: Place;
  readonly #fields: Fields;
  readonly #tls: ClientTls;
  #client: HttpClient | undefined;

  constructor({ name, baseUrl, headers = {}, clientTLS = {} }: HttpEndpointOptions) {
    const place = placeOf(baseUrl);
    if (place === undefined)
      throw new SidecarError(
        'ERR_CONFIGURATION',
        `httpEndpoints ${JSON.stringify(name)}: baseUrl must be an http or https URL without query, fragment and credentials`,
      );
    this.name = name;
    this.place = place;
    this.#fields = Object.fromEntries(Object.entries(headers).map(([field, value]) => [field.toLowerCase(), value]));
    this.#tls = clientTLS;
  }

  get client(): HttpClient {
    this.#client ??= httpClient(this.place.origin, this.#tls);
    return this.#client;
  }

  /** Its own fields instead of the caller's. */
  addTo(fields: Fields): Fields {
    return Object.assign(fields, this.#fields);
  }

  async close(): Promise<void> {
    await this.#client?.close();
  }
}

/**
 * The endpoints by name.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming the field that is wrong, without its value.
 */
export function openEndpoints(options: readonly HttpEndpointOptions[]): ReadonlyMap<string, HttpEndpoint> {
  const problem = problemOf(options);
  if (problem !== undefined) throw new SidecarError('ERR_CONFIGURATION', problem);
  const endpoints = new Map<string, HttpEndpoint>();
  for (const one of options) {
    if (endpoints.has(one.name))
      throw new SidecarError('ERR_CONFIGURATION', `httpEndpoints name ${JSON.stringify(one.name)} is used twice`);
    endpoints.set(one.name, new HttpEndpoint(one));
  }
  return endpoints;
}
