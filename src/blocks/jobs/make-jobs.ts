import type { AppMonitor } from '../../app/app-monitor.ts';
import type { AppChannel } from '../../app/channel.ts';
import type { BlockDeps } from '../block-deps.ts';
import { JobService } from './job-service.ts';
import type { JobsSettings } from './options.ts';
import type { JobApp } from './running/jobs-deps.ts';

/** Where jobs run that have no function in code. */
interface MakeJobsDeps extends BlockDeps {
  readonly app: AppChannel | undefined;
  readonly monitor: AppMonitor | undefined;
}

/** Makes the block. */
export function makeJobs({ app, monitor, ...deps }: MakeJobsDeps, options: JobsSettings): JobService {
  const { concurrency, missedTicks, timeoutMs, maxCrashes, keepFailedMs } = options;
  return new JobService({
    ...deps,
    app: app && monitor && jobApp(app, monitor),
    timeLimitMs: timeoutMs,
    // A run that waits for a place at the application would use up its time.
    concurrency: Math.min(concurrency, app?.maxConcurrency ?? concurrency),
    everyTick: missedTicks === 'all',
    endsAtExpiry: false,
    maxCrashes,
    keepFailedMs,
  });
}

function jobApp(app: AppChannel, monitor: AppMonitor): JobApp {
  return { isRemote: app.address.port !== undefined, monitor, call: (call) => app.call(call) };
}
