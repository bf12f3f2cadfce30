import type { Logger } from '../../../util/logger.ts';

/** An instance whose code runs, or ran a moment ago. */
export interface InstanceUnderWay {
  readonly instanceId: string;
  readonly workflowName?: string;
}

/** An engine, for a report. */
export interface Reporting {
  readonly logger: Logger;
  underWay(): readonly InstanceUnderWay[];
}

/** Instances in one line of the log. */
const MAX_INSTANCES = 10;

/** Per process, which may have more sidecars than it may have listeners. */
const reporting = new Set<Reporting>();

/**
 * Names the instances whose code may have ended the process: an unhandled rejection does not tell. Failures of tasks end
 * no process, see `BranchFailures`; any other error of a branch that no code waits for does, and again after each start.
 */
export function reportCrashes(engine: Reporting): Disposable {
  if (reporting.size === 0) process.on('uncaughtExceptionMonitor', report);
  reporting.add(engine);
  return {
    [Symbol.dispose]: () => {
      if (reporting.delete(engine) && reporting.size === 0) process.off('uncaughtExceptionMonitor', report);
    },
  };
}

function report(error: Error, origin: NodeJS.UncaughtExceptionOrigin): void {
  if (origin !== 'unhandledRejection') return;
  for (const engine of reporting) {
    const instances = engine.underWay();
    if (instances.length === 0) continue;
    const details = { error, count: instances.length, instances: instances.slice(0, MAX_INSTANCES) };
    engine.logger.error(details, 'an unhandled rejection ends the process: it may be of one of these workflows');
  }
}
