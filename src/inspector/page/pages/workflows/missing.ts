import type { InstanceInfo } from '../../../api/workflows.ts';

/** The code that an instance waits for, in words. */
export function missingIn({ missingCode }: Pick<InstanceInfo, 'missingCode'>): string | undefined {
  return missingCode?.map(({ kind, name }) => `${kind} ${name}`).join(', ');
}
