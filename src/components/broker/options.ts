import { createSecureContext } from 'node:tls';
import { messageOf } from '../../errors.ts';
import { MAX_TIMEOUT_MS } from '../../util/clock.ts';
import { nameOfKind } from '../../util/known-fields.ts';
import {
  checkOptions,
  type OptionField,
  type OptionFields,
  secret,
  type WrongOption,
  whole,
} from '../../util/option-fields.ts';
import { ACCESS_FIELDS } from '../access-fields.ts';
import type { BrokerOptions } from './broker-pubsub.ts';

/** Options of `tls.connect`. */
export const TLS_OPTIONS: OptionField = secret({ expected: expectedTls });
/** Whether to use TLS, or options of `tls.connect`. */
export const TLS: OptionField = secret({
  expected: (value) => (typeof value === 'boolean' ? undefined : expectedTls(value, 'true, false or ')),
});
const COMMON_FIELDS: OptionFields<BrokerOptions> = {
  publishTimeoutMs: whole(1, MAX_TIMEOUT_MS),
  ...ACCESS_FIELDS,
};

/**
 * Checks the options of a component on a broker; `fields` are those that not all of them have.
 *
 * @throws SidecarError `ERR_CONFIGURATION`, naming the component, the field and, unless it is secret, the value.
 */
export function checkBrokerOptions<T extends BrokerOptions>(
  what: string,
  options: T,
  fields: OptionFields<Omit<T, keyof BrokerOptions>>,
): WrongOption<T> {
  // The cast is safe: the fields that are left out above are the common ones.
  return checkOptions(what, options, { ...fields, ...COMMON_FIELDS } as OptionFields<T>);
}

/** The options of `tls.connect`; `undefined` for no TLS. */
export function tlsOptions(tls: boolean | object): object | undefined {
  if (tls === false) return undefined;
  return tls === true ? {} : tls;
}

function expectedTls(value: unknown, others = ''): string | undefined {
  const expected = `${others}an object with options of tls.connect`;
  if (nameOfKind(value) !== 'an object') return expected;
  try {
    createSecureContext(Object(value));
    return undefined;
  } catch (error) {
    // Node shows values of a wrong type, which may be secret.
    return `${expected}: ${messageOf(error).replace(/ Received .*/s, '')}`;
  }
}
