import { SidecarError } from '../../errors.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import { optionsSchema } from '../../util/options-schema.ts';
import type { JobBody, JobReply, ScheduleBody } from '../api/jobs.ts';
import type { JobRecord } from '../api/live.ts';
import type { ChangedReply } from '../api/queues.ts';
import type { PayloadViews } from '../payload.ts';
import type { ApiRoute } from '../route.ts';
import { acts, given, jsonTextIn, NAME, reads, TEXT } from './define.ts';

/** The attempts of a job that this process has seen, the newest first. */
export type RecentRuns = (jobName: string) => Promise<readonly JobRecord[]>;

const NEXT_RUNS = 5;
const JOB_BODY = optionsSchema<JobBody>({ name: NAME }, ['name']);

/** Jobs: what is scheduled, and what is done with it. */
export function jobRoutes(views: PayloadViews, recent: RecentRuns): readonly ApiRoute[] {
  const scheduled = optionsSchema<ScheduleBody>(
    {
      ...{ name: NAME, schedule: TEXT, dueTime: TEXT, ttl: TEXT, data: TEXT },
      repeats: { type: 'integer', minimum: 1 },
      ifExists: { enum: ['fail', 'keep', 'replace', 'update'] },
    },
    ['name'],
  );
  const changes = ['run', 'pause', 'resume', 'delete'] as const;
  return [
    reads('jobs', ['prefix', 'cursor', 'limit'], ({ jobs }, query) =>
      jobs.listPage(
        given({ prefix: query.text('prefix'), cursor: query.text('cursor'), limit: query.number('limit') }),
      ),
    ),
    reads('jobs/one', ['name'], (sidecar, query) => readJob(sidecar, query.needed('name'), { views, recent })),
    acts<ScheduleBody>('jobs', scheduled, async ({ jobs }, { name, data, ...options }): Promise<ChangedReply> => {
      return { changed: await jobs.scheduleText(name, options, jsonTextIn('data', data)) };
    }),
    ...changes.map((change) =>
      acts<JobBody>(
        `jobs/${change}`,
        JOB_BODY,
        async ({ jobs }, { name }): Promise<ChangedReply> => ({ changed: await jobs[change](name) }),
      ),
    ),
  ];
}

interface JobDeps {
  readonly views: PayloadViews;
  readonly recent: RecentRuns;
}

async function readJob({ jobs }: Sidecar, name: string, { views, recent }: JobDeps): Promise<JobReply> {
  const found = await jobs.inspect(name, NEXT_RUNS);
  if (found === undefined) throw new SidecarError('ERR_NOT_FOUND', `there is no job ${JSON.stringify(name)}`);
  const { job, data: json, nextRuns } = found;
  const data = json === undefined ? undefined : views.long({ json }, { kind: 'job', name });
  return { job, ...(data === undefined ? undefined : { data }), nextRuns, recent: await recent(name) };
}
