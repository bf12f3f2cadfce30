import { StateError } from '../../state/errors.ts';

const UNTRUSTED = /^(CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|ERR_TLS_CERT_)/;

/** The error for a server that TLS cannot be spoken with; `undefined` for any other error. Retries are useless. */
export function tlsErrorOf(error: unknown, server: string): StateError | undefined {
  const { code, message = '' } = error as { readonly code?: unknown; readonly message?: string };
  if (typeof code === 'string' && UNTRUSTED.test(code))
    return new StateError(
      'failed',
      `${server} has a certificate that this process does not trust: ${message} (${code}). The certificate of its authority belongs into the TLS options ("ca").`,
      error,
    );
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || message.includes('does not support SSL'))
    return new StateError('failed', `${server} does not speak TLS there, and the options demand it.`, error);
  return undefined;
}
