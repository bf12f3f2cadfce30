import { metadataOfError } from '../../components/binding.ts';
import { messageOf, SidecarError } from '../../errors.ts';
import { shown } from '../../util/shown.ts';
import { didYouMean } from '../../util/suggest.ts';
import { metadataHeaders } from './metadata-headers.ts';

/** A request that cannot be understood. */
export function malformedInvocation(problem: string, cause?: unknown): SidecarError {
  return new SidecarError('ERR_MALFORMED_REQUEST', `failed deserializing the request: ${problem}`, { cause });
}

/** The binding is an input only. */
export function notAnOutput(name: string): SidecarError {
  return new SidecarError('ERR_INVOKE_OUTPUT_BINDING', `binding ${name} cannot be called: it is an input binding`);
}

/** The operation is missing, or the binding does not have it. */
export function unknownBindingOperation(name: string, operation: string, known: readonly string[]): SidecarError {
  const given = operation === '' ? 'operation is missing' : `operation ${shown(operation)} is not known`;
  const message = `${given} for binding ${name}: expected ${known.join(', ')}${didYouMean(operation, known)}`;
  return new SidecarError('ERR_INVOKE_OUTPUT_BINDING', message);
}

/** The call failed: it may have been done. */
export function invokeFailed(name: string, cause: unknown): SidecarError {
  const message = `error invoking output binding ${name}: ${messageOf(cause)}`;
  return new SidecarError('ERR_INVOKE_OUTPUT_BINDING', message, {
    cause,
    headers: metadataHeaders(metadataOfError(cause)),
  });
}
