import { isError } from '../../errors.ts';
import { BindingError } from '../binding.ts';

/**
 * The error that a caller sees: what failed, without the address. `reason` is why the call was cancelled, if it was.
 */
export function failureOf(error: unknown, reason: unknown): unknown {
  if (error instanceof BindingError) return error;
  if (reason !== undefined) return reason;
  const code = codeOf(error);
  const because = code === undefined ? '' : ` (${code})`;
  return new BindingError(`the target could not be called${because}`, {}, { cause: error });
}

function codeOf(error: unknown): string | undefined {
  if (!isError(error)) return undefined;
  const { code, errors, cause } = error as NodeJS.ErrnoException & { readonly errors?: readonly unknown[] };
  return code ?? codeOf(errors?.[0]) ?? codeOf(cause);
}
