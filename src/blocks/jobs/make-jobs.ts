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
import type { JobApp } from './running/jobs-host.ts';

/** How jobs are run. @public */
export interface JobsOptions {
  /** The most runs at a time; never more than the application's `maxConcurrency`. Default 100. */
  readonly concurrency?: number;
  /**
   * What becomes of ticks that were missed while the process was down, the application away or the run before them
   * still under way: `once` makes one run of them, `all` runs each. Default `once`; `all` with `wire: 'dapr'`.
   */
  readonly missedTicks?: 'once' | 'all';
  /**
   * How long the application may take for a run, in milliseconds; 0 for no limit. For functions in code there is none
   * but that of {@link JobHandlerOptions}. Default 60,000.
   */
  readonly timeoutMs?: number;
}

/** The JSON schema of {@link JobsOptions}. */
export const JOBS_OPTIONS_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    concurrency: { type: 'integer', minimum: 1 },
    missedTicks: { enum: ['once', 'all'] },
    timeoutMs: { type: 'integer', minimum: 0 },
  },
} as const;

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
  readonly jobs: JobsOptions;
  readonly stopTimeoutMs: number;
  readonly admit: () => void;
}

const DEFAULT_CONCURRENCY = 100;
const DEFAULT_TIMEOUT_MS = 60_000;

/** Makes the block. */
export function makeJobs(settings: JobsSettings): JobService {
  const { appId, namespace, wire, clock, logger, events, work, app, monitor } = settings;
  const { jobs: options, stopTimeoutMs, admit } = settings;
  const {
    concurrency = DEFAULT_CONCURRENCY,
    missedTicks = wire.jobs.missedTicks,
    timeoutMs = DEFAULT_TIMEOUT_MS,
  } = options;
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
