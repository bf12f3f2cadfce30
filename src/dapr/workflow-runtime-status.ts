/** The states of an instance by name, and the names by number, as in `WorkflowRuntimeStatus[7]`. @public */
export const WorkflowRuntimeStatus = {
  RUNNING: 0,
  COMPLETED: 1,
  CONTINUED_AS_NEW: 2,
  FAILED: 3,
  CANCELED: 4,
  TERMINATED: 5,
  PENDING: 6,
  SUSPENDED: 7,
  0: 'RUNNING',
  1: 'COMPLETED',
  2: 'CONTINUED_AS_NEW',
  3: 'FAILED',
  4: 'CANCELED',
  5: 'TERMINATED',
  6: 'PENDING',
  7: 'SUSPENDED',
} as const;

/** A state, as a number. @public */
export type WorkflowRuntimeStatus = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7;
