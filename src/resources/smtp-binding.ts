import { type SmtpBindingOptions, smtpBinding } from '../components/smtp/index.ts';
import { isApiError } from '../errors.ts';
import { definedOnly } from '../util/defined-only.ts';
import { BINDING_NAMES, commonMetadata } from './bindings.ts';
import { MetadataReader } from './metadata-reader.ts';
import type { MakeStore } from './store-source.ts';

const TEXTS = ['host', 'user', 'password', 'emailFrom', 'emailTo', 'emailCC', 'emailBCC', 'subject'] as const;

/** The metadata of a `bindings.smtp`. */
export const smtpMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [...BINDING_NAMES, ...TEXTS, 'port', 'skipTLSVerify', 'priority'],
  ignores: [],
};

const MAX_PORT = 65_535;

/** Makes a `bindings.smtp`. */
export const makeSmtpBinding: MakeStore = (source) => {
  const reader = new MetadataReader(source);
  const common = commonMetadata(reader);
  const texts = Object.fromEntries(TEXTS.map((name) => [name, reader.text(name)]));
  if (texts['host'] === undefined) reader.problem('bindings.smtp needs metadata host');
  reader.pair('user', 'password');
  const skipTlsVerify = reader.flag('skipTLSVerify');
  if (skipTlsVerify) reader.note('metadata skipTLSVerify: the mail server may be anybody');
  const numbers = {
    port: reader.number('port', { min: 1, max: MAX_PORT }),
    priority: reader.number('priority', { min: 1, max: 5 }),
  };
  if (reader.hasProblem) return undefined;
  try {
    // The cast is safe: what is not given is left out, and the host is given.
    const options = { ...common, ...definedOnly({ ...texts, ...numbers, skipTlsVerify }) } as SmtpBindingOptions;
    return smtpBinding(source.name, options);
  } catch (error) {
    if (!isApiError(error)) throw error;
    reader.problem(
      'metadata emailFrom, emailTo, emailCC and emailBCC must be addresses with ; between them, and subject one line',
    );
    return undefined;
  }
};
