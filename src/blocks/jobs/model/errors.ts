import { messageOf, type SchedulerErrorCode, SidecarError } from '../../../errors.ts';

type Reason = SchedulerErrorCode extends `${string}_SCHEDULER_${infer R}` ? R : never;

/** The operations of the jobs API. */
export type Operation =
  | 'SCHEDULE_JOB'
  | 'GET_JOB'
  | 'DELETE_JOB'
  | 'LIST_JOBS'
  | 'RUN_JOB'
  | 'PAUSE_JOB'
  | 'RESUME_JOB';

/** The names of an operation in messages and in error codes. */
const OPERATIONS: Readonly<Record<Operation, { readonly verb: string; readonly reason: Reason }>> = {
  SCHEDULE_JOB: { verb: 'schedule', reason: 'SCHEDULE_JOB' },
  GET_JOB: { verb: 'get', reason: 'GET_JOB' },
  DELETE_JOB: { verb: 'delete', reason: 'DELETE_JOB' },
  LIST_JOBS: { verb: 'list', reason: 'GET_JOB' },
  RUN_JOB: { verb: 'run', reason: 'SCHEDULE_JOB' },
  PAUSE_JOB: { verb: 'pause', reason: 'SCHEDULE_JOB' },
  RESUME_JOB: { verb: 'resume', reason: 'SCHEDULE_JOB' },
};

/** The names that errors contain. */
export interface JobErrorNames {
  /** The wire's prefix of codes and reasons: `SIDECAR_` or `DAPR_`. */
  readonly reasonPrefix: 'SIDECAR_' | 'DAPR_';
  readonly appId: string;
  readonly namespace: string;
}

/** The errors of jobs, with the codes and details that Dapr's clients know. */
export class JobErrors {
  readonly #names: JobErrorNames;

  constructor(names: JobErrorNames) {
    this.#names = names;
  }

  /** The error for a body that is not JSON or has a field of the wrong type. */
  malformed(problem: string, cause?: unknown): SidecarError {
    return new SidecarError('ERR_MALFORMED_REQUEST', `job is malformed: ${problem}`, { cause });
  }

  nameInBody(): SidecarError {
    return this.#error('JOB_NAME', 'the job has a name in the body: expected it in the path only', 400);
  }

  nameEmpty(): SidecarError {
    return this.#error('JOB_NAME_EMPTY', 'job name is empty', 400);
  }

  scheduleEmpty(): SidecarError {
    return this.#error('SCHEDULE_EMPTY', 'the job has neither schedule nor dueTime: expected at least one', 400);
  }

  /** The error for a request that can never succeed. */
  invalid(operation: Operation, problem: string, cause?: unknown): SidecarError {
    return this.#error(OPERATIONS[operation].reason, problemOf(operation, problem), 400, cause);
  }

  /** The error for a job that can never run as it was set. */
  invalidTimes(problem: string, cause?: unknown): SidecarError {
    return this.invalid('SCHEDULE_JOB', problem, cause);
  }

  exists(name: string): SidecarError {
    const problem = `job already exists: ${JSON.stringify(name)}; expected overwrite: true to replace it`;
    return this.#error('SCHEDULE_JOB', problemOf('SCHEDULE_JOB', problem), 409);
  }

  /** The error for a run that was asked for while the job runs. */
  running(name: string): SidecarError {
    const problem = `job ${JSON.stringify(name)} runs, or is due already: expected one that waits for its time`;
    return this.#error('SCHEDULE_JOB', problemOf('RUN_JOB', problem), 409);
  }

  notFound(name: string): SidecarError {
    return this.#error('GET_JOB', problemOf('GET_JOB', `job not found: ${JSON.stringify(name)}`), 500);
  }

  /** The error for a failure of the store. */
  failed(operation: Operation, cause: unknown): SidecarError {
    return this.#error(OPERATIONS[operation].reason, problemOf(operation, messageOf(cause)), 500, cause);
  }

  #error(reason: Reason, message: string, status: number, cause?: unknown): SidecarError {
    const { reasonPrefix, appId: appID, namespace } = this.#names;
    return new SidecarError(`${reasonPrefix}SCHEDULER_${reason}`, message, {
      status,
      cause,
      details: { reason: `SCHEDULER_${reason}`, metadata: { appID, namespace } },
    });
  }
}

function problemOf(operation: Operation, problem: string): string {
  return `failed to ${OPERATIONS[operation].verb} job due to: ${problem}`;
}
