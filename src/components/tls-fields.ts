import { createSecureContext } from 'node:tls';
import { messageOf } from '../errors.ts';
import { nameOfKind } from '../util/known-fields.ts';
import { type OptionField, secret } from '../util/option-fields.ts';

/** Options of `tls.connect`. */
export const TLS_OPTIONS: OptionField = secret({ expected: expectedTls });
/** Whether to use TLS, or options of `tls.connect`. */
export const TLS: OptionField = secret({
  expected: (value) => (typeof value === 'boolean' ? undefined : expectedTls(value, 'true, false or ')),
});

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
