import {
  type ErrorCode,
  messageOf,
  type SchedulerErrorCode,
  SidecarError,
  type SidecarErrorOptions,
} from '../../../errors.ts';

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

/** The errors of jobs, over HTTP with the codes and details that Dapr's clients know. */
export class JobErrors {
  readonly #names: JobErrorNames;

  constructor(names: JobErrorNames) {
    this.#names = names;
  }

  /** The error for a body that is not JSON or has a field of the wrong type. */
  malformed(problem: string, argument?: string, cause?: unknown): SidecarError {
    const wireCode = 'ERR_MALFORMED_REQUEST';
    return new SidecarError('ERR_INVALID_ARGUMENT', `job is malformed: ${problem}`, { cause, argument, wireCode });
  }

  nameInBody(): SidecarError {
    return this.#invalid('JOB_NAME', 'the job has a name in the body: expected it in the path only', 'name');
  }

  nameEmpty(): SidecarError {
    return this.#invalid('JOB_NAME_EMPTY', 'job name is empty', 'name');
  }

  scheduleEmpty(): SidecarError {
    const problem = 'the job has neither schedule nor dueTime: expected at least one';
    return this.#invalid('SCHEDULE_EMPTY', problem, 'options.schedule');
  }

  /** The error for a name that no job can have. */
  invalidName(operation: Operation, problem: string): SidecarError {
    return this.#invalid(OPERATIONS[operation].reason, problemOf(operation, problem), 'name');
  }

  /** The error for a job that can never run as it was set. */
  invalidTimes(problem: string, field: string, cause?: unknown): SidecarError {
    return this.#invalid('SCHEDULE_JOB', problemOf('SCHEDULE_JOB', problem), `options.${field}`, cause);
  }

  exists(name: string): SidecarError {
    const problem = `job already exists: ${JSON.stringify(name)}; expected overwrite: true (in code ifExists: 'replace') to replace it`;
    return this.#error('ERR_JOB_EXISTS', 'SCHEDULE_JOB', problemOf('SCHEDULE_JOB', problem));
  }

  /** The error for a run that was asked for while the job runs. */
  running(name: string): SidecarError {
    const problem = `job ${JSON.stringify(name)} runs, or is due already: expected one that waits for its time`;
    return this.#error('ERR_JOB_BUSY', 'SCHEDULE_JOB', problemOf('RUN_JOB', problem));
  }

  notFound(name: string): SidecarError {
    return this.#error('ERR_JOB_STORE', 'GET_JOB', problemOf('GET_JOB', `job not found: ${JSON.stringify(name)}`));
  }

  /** The error for a failure of the store. */
  failed(operation: Operation, cause: unknown): SidecarError {
    return this.#error('ERR_JOB_STORE', OPERATIONS[operation].reason, problemOf(operation, messageOf(cause)), {
      cause,
    });
  }

  #invalid(reason: Reason, message: string, argument: string, cause?: unknown): SidecarError {
    return this.#error('ERR_INVALID_ARGUMENT', reason, message, { argument, cause });
  }

  /** In code the codes do not depend on the wire. */
  #error(code: ErrorCode, reason: Reason, message: string, more: SidecarErrorOptions = {}): SidecarError {
    const { reasonPrefix, appId: appID, namespace } = this.#names;
    return new SidecarError(code, message, {
      ...more,
      wireCode: `${reasonPrefix}SCHEDULER_${reason}`,
      details: { reason: `SCHEDULER_${reason}`, metadata: { appID, namespace } },
    });
  }
}

function problemOf(operation: Operation, problem: string): string {
  return `failed to ${OPERATIONS[operation].verb} job due to: ${problem}`;
}
