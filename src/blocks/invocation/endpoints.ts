import { SidecarError } from '../../errors.ts';
import { type ClientTls, type HttpClient, httpClient } from '../../http/pool-client.ts';
import { optionsSchema } from '../../util/options-schema.ts';
import { validator } from '../../util/schema.ts';
import type { Fields } from './headers.ts';

/** A named HTTP service that has no sidecar. @public */
export interface HttpEndpointOptions {
  /** The name that callers use; takes precedence over an equal app ID. */
  readonly name: string;
  /** The base URL, such as `https://api.example.com/v2`; the path of a call is appended. */
  readonly baseUrl: string;
  /** Set on every request, such as `authorization`; replaces the caller's fields. Names in any case. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** PEM texts for TLS. */
  readonly clientTLS?:
    | {
        /** The certificates of the authorities that sign for the service. Default: Node's. */
        readonly rootCA?: string | undefined;
        /** The sidecar's client certificate. Default: none. */
        readonly certificate?: string | undefined;
        /** The key of `certificate`. Default: none. */
        readonly privateKey?: string | undefined;
      }
    | undefined;
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

/** Validated separately: messages about other options show the wrong value, but header fields and keys are secret. */
const problemOf = validator(LIST, 'options.httpEndpoints', { secret: true });

/** The address of an HTTP server: an origin and a base path. */
export interface BaseUrl {
  readonly origin: string;
  /** Without a trailing slash; may be empty. */
  readonly base: string;
}

/** Parses a URL without query, fragment and credentials; `undefined` if it is invalid. */
export function baseUrlOf(url: string): BaseUrl | undefined {
  if (!/^https?:\/\/[^/?#\\@]+(\/[^?#\\]*)?$/i.test(url) || !URL.canParse(url)) return undefined;
  const { origin, pathname } = new URL(url);
  return { origin, base: pathname.replace(/\/+$/, '') };
}

/** A named HTTP service. */
export class HttpEndpoint {
  readonly name: string;
  readonly baseUrl: BaseUrl;
  readonly #fields: Fields;
  readonly #tls: ClientTls;
  readonly #headLimitBytes: number;
  #client: HttpClient | undefined;

  constructor({ name, baseUrl, headers = {}, clientTLS = {} }: HttpEndpointOptions, headLimitBytes: number) {
    const parsed = baseUrlOf(baseUrl);
    if (parsed === undefined)
      throw new SidecarError(
        'ERR_CONFIGURATION',
        `httpEndpoints ${JSON.stringify(name)}: baseUrl must be an http or https URL without query, fragment and credentials`,
      );
    this.name = name;
    this.baseUrl = parsed;
    this.#fields = Object.fromEntries(Object.entries(headers).map(([field, value]) => [field.toLowerCase(), value]));
    this.#tls = clientTLS;
    this.#headLimitBytes = headLimitBytes;
  }

  get client(): HttpClient {
    this.#client ??= httpClient(this.baseUrl.origin, { tls: this.#tls, headLimitBytes: this.#headLimitBytes });
    return this.#client;
  }

  /** Adds the endpoint's own fields, replacing the caller's. */
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
 * @throws SidecarError `ERR_CONFIGURATION` naming the wrong field, without its value.
 */
export function openEndpoints(
  options: readonly HttpEndpointOptions[],
  headLimitBytes: number,
): ReadonlyMap<string, HttpEndpoint> {
  const problem = problemOf(options);
  if (problem !== undefined) throw new SidecarError('ERR_CONFIGURATION', problem);
  const endpoints = new Map<string, HttpEndpoint>();
  for (const one of options) {
    if (endpoints.has(one.name))
      throw new SidecarError('ERR_CONFIGURATION', `httpEndpoints name ${JSON.stringify(one.name)} is used twice`);
    endpoints.set(one.name, new HttpEndpoint(one, headLimitBytes));
  }
  return endpoints;
}
