import { isIP } from 'node:net';
import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import {
  ANY_TEXT,
  BOOLEAN,
  checkOptions,
  field,
  type OptionField,
  type OptionFields,
  required,
  secret,
  TEXT,
  whole,
} from '../../util/option-fields.ts';
import {
  type Binding,
  type BindingDefinition,
  BindingError,
  type BindingOptions,
  type BindingRequest,
} from '../binding.ts';
import { BINDING_FIELDS, commonParts } from '../binding-options.ts';
import { loadNodemailer, type MailTransport } from './driver.ts';
import { addressProblem, mailOf } from './mail.ts';

/** Options of {@link smtpBinding}. @public */
export interface SmtpBindingOptions extends BindingOptions {
  /** The mail server. */
  readonly host: string;
  /** Its port. 465 is TLS from the beginning; others change to TLS if the server can. Default 587. */
  readonly port?: number | undefined;
  /** The user to log in as; needs `password`, and TLS unless the server is on this host. Default: no login. */
  readonly user?: string | undefined;
  /** The password of `user`. Default: none. */
  readonly password?: string | undefined;
  /** Whether any certificate of the server is accepted: it may be anybody's then. Default `false`. */
  readonly skipTlsVerify?: boolean | undefined;
  /** The sender of mails whose call names none. Default: none. */
  readonly emailFrom?: string | undefined;
  /** Recipients of mails whose call names none, with `;` between them. Default: none. */
  readonly emailTo?: string | undefined;
  /** Recipients of copies, likewise. Default: none. */
  readonly emailCC?: string | undefined;
  /** Recipients of copies that the others do not see, likewise. Default: none. */
  readonly emailBCC?: string | undefined;
  /** The subject of mails whose call has none. Default: none. */
  readonly subject?: string | undefined;
  /** From 1, the highest, to 5. Default 3. */
  readonly priority?: number | undefined;
  /** The time limit of a connection, and of each answer of the server. Default `30s`. */
  readonly timeout?: Duration | undefined;
  /** App IDs that may use it. Default: all. */
  readonly scopes?: readonly string[] | undefined;
}

const ADDRESSES: OptionField = {
  expected: (value) => (typeof value === 'string' ? addressProblem(value) : 'a text'),
};
const FIELDS: OptionFields<SmtpBindingOptions> = {
  ...BINDING_FIELDS,
  host: required(TEXT),
  port: whole(1, 65_535),
  user: secret(TEXT),
  password: secret(ANY_TEXT),
  skipTlsVerify: BOOLEAN,
  emailFrom: ADDRESSES,
  emailTo: ADDRESSES,
  emailCC: ADDRESSES,
  emailBCC: ADDRESSES,
  subject: field((value) => typeof value === 'string' && !/\p{Cc}/u.test(value), 'a text of one line'),
  priority: whole(1, 5),
  timeout: duration(1),
};
const DEFAULT_PORT = 587;
const TLS_PORT = 465;
const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * An output binding that sends mails: the operation `create` sends the data, a text in HTML. `emailFrom`, `emailTo`,
 * `emailCC`, `emailBCC`, `subject` and `priority` in the metadata of a call stand for those of the options, for this call
 * only. Needs the package `nodemailer` 10.
 *
 * @param name - the name in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const login = { user: 'shop', password: 'secret' };
 * const components = [smtpBinding('mail', { host: 'smtp.example', ...login, emailFrom: 'shop@shop.example' })];
 * ```
 * @public
 */
export function smtpBinding(name: string, options: SmtpBindingOptions): BindingDefinition {
  const what = `options of smtpBinding ${JSON.stringify(name)}`;
  const wrong = checkOptions(what, options, FIELDS);
  if ((options.user === undefined) !== (options.password === undefined))
    throw wrong(options.user === undefined ? 'user' : 'password', 'one, because user and password belong together');
  return {
    ...commonParts(options),
    name,
    type: 'bindings.smtp',
    directions: ['output'],
    operations: ['create'],
    open: async () => {
      const { createTransport } = await loadNodemailer();
      return new SmtpBinding(createTransport(transportOf(options)), options);
    },
  };
}

/** In the terms of the package. */
function transportOf(options: SmtpBindingOptions): object {
  const { host, port = DEFAULT_PORT, user, password, skipTlsVerify = false } = options;
  const timeoutMs = msOf(options.timeout) ?? DEFAULT_TIMEOUT_MS;
  return {
    ...{ host, port, secure: port === TLS_PORT, logger: false },
    ...{ connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs },
    tls: { rejectUnauthorized: !skipTlsVerify },
    // A password does not go over a network in the clear.
    ...(user === undefined ? {} : { auth: { user, pass: password }, requireTLS: !isThisHost(host) }),
  };
}

function isThisHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

class SmtpBinding implements Binding {
  readonly #transport: MailTransport;
  readonly #options: SmtpBindingOptions;

  constructor(transport: MailTransport, options: SmtpBindingOptions) {
    this.#transport = transport;
    this.#options = options;
  }

  async invoke(request: BindingRequest): Promise<undefined> {
    const mail = mailOf(this.#options, request);
    const { rejected = [] } = await this.#transport.sendMail(mail).catch((error: unknown) => {
      throw failureOf(error);
    });
    if (rejected.length > 0)
      throw new BindingError(`the mail server refuses ${rejected.length} of the recipients; the others have the mail`);
  }

  async close(): Promise<void> {
    this.#transport.close();
  }
}

/** Only the code: the server's text has addresses. */
function failureOf(error: unknown): BindingError {
  const { code, responseCode } = Object(error) as { readonly code?: unknown; readonly responseCode?: unknown };
  const answered = typeof responseCode === 'number' ? ` (${responseCode})` : '';
  const problem =
    code === 'EAUTH'
      ? `refuses the login${answered}`
      : answered === ''
        ? 'cannot be reached, did not answer in time, or has no TLS'
        : `refuses the mail${answered}`;
  return new BindingError(`the mail server ${problem}`, {}, { cause: error });
}
