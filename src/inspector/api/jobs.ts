import type { Job, JobInfo } from '../../index.ts';
import type { PayloadView } from './apps.ts';
import type { JobRecord } from './live.ts';

export type { JobInfo } from '../../index.ts';

/** `GET jobs?prefix=&cursor=&limit=` */
export interface JobsReply {
  readonly jobs: readonly JobInfo[];
  readonly cursor?: string;
}

/** `GET jobs/one?name=` */
export interface JobReply {
  readonly job: Omit<Job, 'data'>;
  readonly data?: PayloadView;
  /** The next instants of its schedule, at most 5. */
  readonly nextRuns: readonly number[];
  /** Its attempts that this process has seen, the newest first. */
  readonly recent: readonly JobRecord[];
}

/** `POST jobs`: schedules. The fields of `JobOptions`, with `data` as JSON text. */
export interface ScheduleBody {
  readonly name: string;
  readonly schedule?: string;
  readonly dueTime?: string;
  readonly repeats?: number;
  readonly ttl?: string;
  readonly data?: string;
  readonly ifExists?: 'fail' | 'keep' | 'replace' | 'update';
}

/** `POST jobs/run`, `jobs/pause`, `jobs/resume`, `jobs/delete`: answers a {@link ChangedReply}. */
export interface JobBody {
  readonly name: string;
}
