import { MAX_TIMEOUT_MS } from '../../util/clock.ts';
import { duration } from '../../util/duration-option.ts';
import { checkOptions, type OptionFields, type WrongOption } from '../../util/option-fields.ts';
import { ACCESS_FIELDS } from '../access-fields.ts';
import type { BrokerOptions } from './broker-pubsub.ts';

const COMMON_FIELDS: OptionFields<BrokerOptions> = {
  publishTimeout: duration(1, MAX_TIMEOUT_MS),
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
