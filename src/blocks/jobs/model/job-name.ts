import { nameOfKind } from '../../../util/known-fields.ts';
import { nameProblem } from '../../../util/name-problem.ts';
import type { JobErrors, Operation } from './errors.ts';

/**
 * Checks a job's name.
 *
 * @throws SidecarError `…_SCHEDULER_JOB_NAME_EMPTY`, or the operation's code with status 400.
 */
export function checkJobName(name: unknown, operation: Operation, errors: JobErrors): void {
  // JavaScript passes anything. Where a pattern is tested, a number or undefined would become a text.
  if (typeof name !== 'string') throw errors.invalidName(operation, `job name is ${nameOfKind(name)}: expected text`);
  if (name.trim() === '') throw errors.nameEmpty();
  const problem = nameProblem(name) ?? spaceProblem(name);
  if (problem !== undefined) throw errors.invalidName(operation, `job name ${JSON.stringify(name)} ${problem}`);
}

function spaceProblem(name: string): string | undefined {
  return name.startsWith(' ') || name.endsWith(' ') ? 'begins or ends with a space' : undefined;
}
