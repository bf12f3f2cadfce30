import type { JobInfo } from '../../index.ts';
import type { JobReply, JobsReply, ScheduleBody } from '../../inspector/api/jobs.ts';
import type { ChangedReply } from '../../inspector/api/queues.ts';
import { CommandFailure } from '../failure.ts';
import { given } from '../settings.ts';
import type { Action, ActionGroup, Call } from './action.ts';
import { PAGE_FLAGS } from './flags.ts';
import { payloadText } from './payload.ts';
import type { Column } from './table.ts';
import { instant, lasting, relative } from './text.ts';

async function list(call: Call): Promise<void> {
  const { flags, api, now } = call;
  const reply = await call.page(
    (page) => api.get<JobsReply>('jobs', { prefix: flags.text('prefix'), ...page }),
    ({ jobs }) => jobs.length === 0,
  );
  if (call.isJson) return call.json(reply);
  const columns: readonly Column<JobInfo>[] = [
    { title: 'NAME', of: ({ name }) => name, isLong: true },
    { title: 'SCHEDULE', of: ({ schedule }) => schedule ?? 'once', isLong: true },
    {
      title: 'NEXT',
      of: ({ nextRunAt, isPaused }) => (isPaused || nextRunAt === undefined ? '' : relative(nextRunAt, now)),
    },
    { title: 'RUNS', of: ({ runs }) => runs, isNumber: true },
    {
      title: 'LAST',
      of: ({ lastRun }) => lastRun && `${lastRun.outcome} ${relative(lastRun.endedAt, now)}`,
      style: ({ lastRun }) => styleOf(lastRun?.outcome),
    },
    { title: 'STATE', of: stateOf },
    { title: 'REASON', of: ({ lastRun }) => lastRun?.reason, isLong: true },
  ];
  call.table(reply.jobs, columns, 'no jobs');
  call.more(reply.cursor);
}

/** `failed`: for good, and kept to be run again. */
function stateOf({ isPaused, keptUntilAt }: JobInfo): string {
  if (keptUntilAt !== undefined) return 'failed';
  return isPaused ? 'paused' : 'active';
}

export function styleOf(outcome: string | undefined): 'green' | 'red' | 'yellow' | undefined {
  if (outcome === undefined) return undefined;
  if (outcome === 'done') return 'green';
  return outcome === 'retrying' ? 'yellow' : 'red';
}

async function show(call: Call): Promise<void> {
  const reply = await call.api.get<JobReply>('jobs/one', { name: call.arg(0) });
  if (call.isJson) return call.json(reply);
  const { job, data, nextRuns } = reply;
  const { lastRun } = job;
  call.fields({
    name: job.name,
    schedule: job.schedule,
    'due time': job.dueTime,
    repeats: job.repeats,
    ttl: job.ttl,
    retries: job.retry && retries(job.retry),
    state: stateOf(job),
    next: nextRuns.length > 0 ? nextRuns.map(instant).join('\n') : job.nextRunAt && instant(job.nextRunAt),
    'kept until': job.keptUntilAt && instant(job.keptUntilAt),
    runs: job.runs,
    last: lastRun && `${lastRun.outcome} at ${instant(lastRun.endedAt)}, attempt ${lastRun.attempt}`,
    took: lastRun && lasting(lastRun.durationMs),
    reason: lastRun?.reason,
    data: payloadText(data),
  });
}

export function retries({ maxRetries, delayMs = 0, maxDelayMs, factor = 1 }: JobInfo['retry'] & object): string {
  if (maxRetries === 0) return 'none';
  const growth = factor > 1 ? `, then ${factor} times as long each` : '';
  return `${maxRetries}, after ${lasting(delayMs)}${growth}${maxDelayMs === undefined ? '' : `, up to ${lasting(maxDelayMs)}`}`;
}

const IF_EXISTS = ['fail', 'keep', 'replace', 'update'] as const;

async function schedule(call: Call): Promise<void> {
  const { flags } = call;
  const name = call.arg(0);
  const body: ScheduleBody = {
    name,
    ...given('schedule', flags.text('schedule')),
    ...given('dueTime', flags.text('due')),
    ...given('repeats', flags.integer('repeats', { from: 1 })),
    ...given('ttl', flags.text('ttl')),
    ...given('ifExists', flags.choice('if-exists', IF_EXISTS)),
    ...given('data', await call.jsonText('data')),
  };
  if (body.schedule === undefined && body.dueTime === undefined)
    throw call.misuse('when? Expected --schedule, such as @daily, or --due, such as 2h');
  const reply = await call.api.post<ChangedReply>('jobs', body);
  const done = call.isStopped ? 'is scheduled: it runs when the application does' : 'is scheduled';
  call.done(reply, `job ${JSON.stringify(name)} ${reply.changed ? done : 'was there before: it is kept'}`);
}

/** An action that changes a job, or finds it as it is to be. */
function changing(path: string, done: string, otherwise?: string): Action['run'] {
  return async (call) => {
    const name = call.arg(0);
    const reply = await call.api.post<ChangedReply>(`jobs/${path}`, { name });
    const shown = JSON.stringify(name);
    if (reply.changed) return call.done(reply, `job ${shown} ${done}`);
    if (otherwise === undefined) throw new CommandFailure(`there is no job ${shown}`);
    // An error if there is no such job.
    await call.api.get<JobReply>('jobs/one', { name });
    call.done(reply, `job ${shown} ${otherwise}`);
  };
}

async function run(call: Call): Promise<void> {
  await changing('run', call.isStopped ? 'runs as soon as the application runs' : 'runs now')(call);
}

const NAME: Pick<Action, 'usage' | 'takes'> = { usage: 'NAME', takes: [1, 1] };

/** `insidecar jobs` */
export const JOBS: ActionGroup = {
  name: 'jobs',
  about: 'schedule, run and manage jobs',
  actions: [
    {
      name: 'list',
      help: 'list all jobs',
      flags: [{ name: 'prefix', value: 'TEXT', help: 'of list: names that begin with it' }, ...PAGE_FLAGS],
      takes: [0, 0],
      run: list,
    },
    { name: 'show', ...NAME, help: 'show a job and its data', run: show },
    {
      name: 'schedule',
      ...NAME,
      help: 'add a job, with --schedule, --due or both',
      flags: [
        { name: 'schedule', value: 'WHEN', help: "'0 0 8 * * *', @daily or @every 1h" },
        { name: 'due', value: 'TIME', aliases: ['due-time'], help: 'its first run: 2h or a date' },
        { name: 'repeats', value: 'N', help: 'the most runs' },
        { name: 'ttl', value: 'TIME', help: 'no run after that: 168h or a date' },
        { name: 'data', value: 'JSON|@FILE', help: 'its data' },
        { name: 'if-exists', value: 'WHAT', help: 'fail (default), keep, replace, update' },
      ],
      run: schedule,
    },
    { name: 'run', ...NAME, help: 'run a job now; its schedule stays', run },
    { name: 'pause', ...NAME, help: 'begin no more runs', run: changing('pause', 'is paused', 'was paused before') },
    { name: 'resume', ...NAME, help: 'begin runs again', run: changing('resume', 'is resumed', 'was not paused') },
    { name: 'delete', ...NAME, help: 'remove a job', run: changing('delete', 'is deleted') },
  ],
  notes: ['--schedule to --if-exists belong to schedule.'],
};
