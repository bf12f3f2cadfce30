import { nameOfKind } from '../../../util/known-fields.ts';
import type { JobErrors, Operation } from './errors.ts';

/** The longest name of a job, in bytes of UTF-8. */
const MAX_JOB_NAME_BYTES = 256;

const FORBIDDEN = /[/\\#?]/;
const CONTROL = /\p{Cc}/u;
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,254}$/;

/**
 * Checks a job's name.
 *
 * @throws SidecarError `…_SCHEDULER_JOB_NAME_EMPTY`, or the operation's code with status 400.
 */
export function checkJobName(name: unknown, operation: Operation, errors: JobErrors): void {
  // JavaScript passes anything. Where a pattern is tested, a number or undefined would become a text.
  if (typeof name !== 'string') throw errors.invalid(operation, `job name is ${nameOfKind(name)}: expected text`);
  // True for nearly all names.
  if (PLAIN.test(name)) return;
  if (name.trim() === '') throw errors.nameEmpty();
  const problem = problemOf(name);
  if (problem !== undefined) throw errors.invalid(operation, `job name ${JSON.stringify(name)} ${problem}`);
}

function problemOf(name: string): string | undefined {
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_JOB_NAME_BYTES) return `has ${bytes} bytes: expected at most ${MAX_JOB_NAME_BYTES}`;
  if (FORBIDDEN.test(name)) return String.raw`contains one of / \ # ?`;
  if (CONTROL.test(name)) return 'contains a control character';
  if (!name.isWellFormed()) return 'contains an unpaired surrogate';
  if (name.startsWith(' ') || name.endsWith(' ')) return 'begins or ends with a space';
  return name === '.' || name === '..' ? 'is a path segment of its own meaning' : undefined;
}
