import { randomUUID } from 'node:crypto';
import type { AppMonitor } from '../../app/app-monitor.ts';
import type { AppChannel } from '../../app/channel.ts';
import type { SidecarEventEmitter } from '../../events.ts';
import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { Work } from '../../util/work.ts';
import type { Wire } from '../../wire.ts';
import { JobService } from './job-service.ts';
import { JobErrors } from './model/errors.ts';
import type { JobsOptions } from './options.ts';
import type { JobApp } from './running/jobs-host.ts';

/** What the sidecar gives. */
export interface JobsSettings {
  readonly appId: string;
  readonly namespace: string;
  readonly wire: Wire;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: SidecarEventEmitter;
  readonly work: Work;
  readonly app: AppChannel | undefined;
  readonly monitor: AppMonitor | undefined;
  readonly jobs: Required<JobsOptions>;
  readonly stopTimeoutMs: number;
  readonly admit: () => void;
}

/** Makes the block. */
export function makeJobs(settings: JobsSettings): JobService {
  const { appId, namespace, wire, clock, logger, events, work, app, monitor } = settings;
  const { jobs: options, stopTimeoutMs, admit } = settings;
  const { concurrency, missedTicks, timeoutMs } = options;
  return new JobService({
    appId,
    errors: new JobErrors({ reasonPrefix: wire.reasonPrefix, appId, namespace }),
    admit,
    host: {
      clock,
      logger,
      events,
      work,
      wire,
      random: Math.random,
      newId: randomUUID,
      app: app && monitor && jobApp(app, monitor),
      timeLimitMs: timeoutMs,
      patienceMs: stopTimeoutMs,
      // A run that waits for a place at the application would use up its time.
      concurrency: Math.min(concurrency, app?.maxConcurrency ?? concurrency),
      everyTick: missedTicks === 'all',
    },
  });
}

function jobApp(app: AppChannel, monitor: AppMonitor): JobApp {
  return { isRemote: app.address.port !== undefined, monitor, call: (call) => app.call(call) };
}
