import { SidecarError } from '../../../errors.ts';
import { type JsonSchema, optionsSchema } from '../../../util/options-schema.ts';
import { type BaseUrl, baseUrlOf } from '../endpoints.ts';

/** How to find the sidecars of other applications. @public */
export interface NameResolutionOptions {
  /** The URLs of sidecars by app ID (in the own namespace) or `appId.namespace`. Takes precedence over all else. Default: none. */
  readonly static?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /** Builds host names from app ID and namespace, for applications not found otherwise. Default: none. */
  readonly dns?:
    | {
        /** Contains `{appId}` and optionally `{namespace}`, such as `{appId}.{namespace}.svc.cluster.local`. */
        readonly template: string;
        /** The port of the sidecars there. */
        readonly port: number;
      }
    | undefined;
}

const URL_SCHEMA = {
  type: 'string',
  pattern: '^https?://',
  expects: 'a URL that begins with http:// or https://',
} as const;

/** The JSON schema of {@link NameResolutionOptions}. */
export const NAME_RESOLUTION_SCHEMA: JsonSchema = optionsSchema<NameResolutionOptions>({
  static: {
    type: 'object',
    propertyNames: { pattern: '^[^./\\s]+(\\.[^./\\s]+)?$' },
    additionalProperties: {
      anyOf: [URL_SCHEMA, { type: 'array', items: URL_SCHEMA, minItems: 1, maxItems: 1_000 }],
      expects: `${URL_SCHEMA.expects}, or a list of 1 to 1,000 such URLs`,
    },
  },
  dns: optionsSchema<NonNullable<NameResolutionOptions['dns']>>(
    {
      template: {
        type: 'string',
        pattern: '^[A-Za-z0-9_.{}-]+$',
        maxLength: 253,
        expects: 'a host name with {appId} in it',
      },
      port: { type: 'integer', minimum: 1, maximum: 65_535 },
    },
    ['template', 'port'],
  ),
});

/** The JSON schema of the option `address`. */
export const ADDRESS_SCHEMA: typeof URL_SCHEMA = URL_SCHEMA;

/** Parsed options. */
export interface NameSettings {
  /** By `appId.namespace`. */
  readonly table: ReadonlyMap<string, readonly BaseUrl[]>;
  readonly dns: NameResolutionOptions['dns'];
}

/**
 * Parses the options.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming the URL or template.
 */
export function readNames({ static: table = {}, dns }: NameResolutionOptions, namespace: string): NameSettings {
  const baseUrls = new Map<string, readonly BaseUrl[]>();
  for (const [name, urls] of Object.entries(table)) {
    const key = name.includes('.') ? name : `${name}.${namespace}`;
    const list = typeof urls === 'string' ? [urls] : urls;
    baseUrls.set(
      key,
      list.map((one) => checkedBaseUrl(one, `nameResolution.static ${JSON.stringify(name)}`)),
    );
  }
  if (dns !== undefined) checkTemplate(dns.template);
  return { table: baseUrls, dns };
}

/**
 * Parses the URL of a sidecar.
 *
 * @throws SidecarError `ERR_CONFIGURATION`.
 */
export function checkedBaseUrl(text: string, what: string): BaseUrl {
  const baseUrl = baseUrlOf(text);
  if (baseUrl !== undefined) return baseUrl;
  throw new SidecarError(
    'ERR_CONFIGURATION',
    `${what} is ${JSON.stringify(text.replace(/\/\/[^/]*@/, '//…@'))}: expected an http or https URL without query, fragment and credentials`,
  );
}

function checkTemplate(template: string): void {
  const rest = template.replaceAll('{appId}', '').replaceAll('{namespace}', '');
  if (template.includes('{appId}') && !/[{}]/.test(rest)) return;
  throw new SidecarError(
    'ERR_CONFIGURATION',
    `nameResolution.dns.template is ${JSON.stringify(template)}: expected a host name with {appId} and maybe {namespace} in it`,
  );
}

/** A label of a host name. */
const LABEL = /^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/;

/** The address by a template; `undefined` for names that are not valid in a host name. */
export function dnsBaseUrl(
  { template, port }: NonNullable<NameSettings['dns']>,
  appId: string,
  namespace: string,
): BaseUrl | undefined {
  const isUsed = template.includes('{namespace}');
  if (!LABEL.test(appId) || (isUsed && !LABEL.test(namespace))) return undefined;
  const host = template.replaceAll('{appId}', appId).replaceAll('{namespace}', namespace);
  return { origin: `http://${host}:${port}`, base: '' };
}
