import type { WorkflowState } from '../../../api/workflows.ts';

/** The code that an instance waits for, in words. */
export function missingIn({ missingCode }: Pick<WorkflowState, 'missingCode'>): string | undefined {
  return missingCode?.map(({ kind, name }) => `${kind} ${name}`).join(', ');
}
