import type { Duration } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import { nameOfKind } from '../../util/known-fields.ts';
import {
  BOOLEAN,
  checkOptions,
  field,
  invalidConfiguration,
  type OptionFields,
  required,
  secret,
  TEXT,
  whole,
} from '../../util/option-fields.ts';
import type { BindingOptions } from '../binding.ts';
import { BINDING_FIELDS } from '../binding-options.ts';

/** Options of {@link httpBinding}. @public */
export interface HttpBindingOptions extends BindingOptions {
  /** The URL that calls go to, such as `https://orders.internal/v2`. A login in it is sent as Basic authorization. */
  readonly url: string;
  /** Whether an answer other than 2xx is an error. Default `true`. */
  readonly errorIfNot2XX?: boolean | undefined;
  /** The time limit of a call, with its redirects and its answer. Default: none. */
  readonly timeout?: Duration | undefined;
  /** The largest body of an answer, in bytes. Default 100 MiB. */
  readonly maxAnswerBytes?: number | undefined;
  /** A header that is sent with every call, which callers cannot replace. Default: none. */
  readonly token?: HttpBindingToken | undefined;
  /** The authorities that are trusted, and the client's own certificate. Default: those of Node, and none. */
  readonly tls?: HttpBindingTls | undefined;
  /** App IDs that may use it. Default: all. */
  readonly scopes?: readonly string[] | undefined;
}

/** A header with a secret. @public */
export interface HttpBindingToken {
  /** The name of the header. */
  readonly header: string;
  /** Its value. */
  readonly value: string;
}

/** Certificates in PEM for calls over TLS. @public */
export interface HttpBindingTls {
  /** The certificates of the authorities that sign for the target. Default: Node's. */
  readonly rootCA?: string | undefined;
  /** The client's certificate. Default: none. */
  readonly certificate?: string | undefined;
  /** Its key. Default: none. */
  readonly privateKey?: string | undefined;
}

const OBJECT = field((value) => nameOfKind(value) === 'an object', 'an object');
const FIELDS: OptionFields<HttpBindingOptions> = {
  ...BINDING_FIELDS,
  url: secret(required(TEXT)),
  errorIfNot2XX: BOOLEAN,
  timeout: duration(1),
  maxAnswerBytes: whole(1),
  token: secret(OBJECT),
  tls: secret(OBJECT),
};
const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TOKEN_FIELDS: OptionFields<HttpBindingToken> = {
  header: required(field((value) => HEADER.test(String(value)), 'the name of a header')),
  value: secret(required(field((value) => /^[!-~](?:[ -~]*[!-~])?$/.test(String(value)), 'visible ASCII characters'))),
};
const PEM = secret(field((value) => String(value).includes('-----BEGIN '), 'a text in PEM'));
const TLS_FIELDS: OptionFields<HttpBindingTls> = { rootCA: PEM, certificate: PEM, privateKey: PEM };

/** Checks the options, and reads the URL. @throws SidecarError `ERR_CONFIGURATION` */
export function checkedUrl(name: string, options: HttpBindingOptions): URL {
  const what = `httpBinding ${JSON.stringify(name)}`;
  checkOptions(`options of ${what}`, options, FIELDS);
  const { url, token, tls } = options;
  if (token !== undefined) checkOptions(`token of ${what}`, token, TOKEN_FIELDS);
  if (tls !== undefined) checkOptions(`tls of ${what}`, tls, TLS_FIELDS);
  if (!isHttpUrl(url)) throw invalidConfiguration(`url of ${what}: expected ${HTTP_URL_FORM}`);
  return new URL(url);
}

export const HTTP_URL_FORM = 'a URL that begins with http:// or https://';

/** Whether a text is the URL of an HTTP target. */
export function isHttpUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text) && isDecodable(new URL(text));
}

function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}
