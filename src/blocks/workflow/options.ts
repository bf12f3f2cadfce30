import { DEFAULT_MAX_CRASHES } from '../../util/crashes.ts';
import { type Complete, definedOnly } from '../../util/defined-only.ts';
import { type Duration, msOf } from '../../util/duration.ts';
import { DURATION, type JsonSchema, NOT_NEGATIVE, optionsSchema, POSITIVE } from '../../util/options-schema.ts';
import type { WorkflowStatus } from './model/instance.ts';

/** Options of workflows. @public */
export interface WorkflowsOptions {
  /** The maximum number of concurrent workflow turns; a turn lasts until it is stored. Default 1,000. */
  readonly maxConcurrentWorkflows?: number | undefined;
  /** The maximum number of concurrent activities. Default 1,000. */
  readonly maxConcurrentActivities?: number | undefined;
  /**
   * The maximum number of idle instances in memory; others are read and replayed when they are due or get a message.
   * Default 10,000.
   */
  readonly maxIdleInstances?: number | undefined;
  /**
   * How long instances and activities wait for unregistered code, from when this process first needs it. After that,
   * they fail with `NotRegisteredError`; 0: at once. Default: no limit.
   */
  readonly missingCodeTimeout?: Duration | undefined;
  /**
   * How often in a row the process may end while the same attempt of an activity is under way before that attempt
   * counts as failed, and the activity's retry policy decides what follows. The first time is not counted, nor is a
   * stop. 0: never. Default 3.
   */
  readonly maxCrashes?: number | undefined;
  /** How long finished instances are kept, and how many. Default: all, until they are purged. */
  readonly retention?: WorkflowRetention | undefined;
}

/**
 * How long finished instances are kept, and how many. The other times override `anyTerminal`.
 *
 * @public
 */
export interface WorkflowRetention {
  /** Completed instances. Default: `anyTerminal`. */
  readonly completed?: Duration | undefined;
  /** Failed instances. Default: `anyTerminal`. */
  readonly failed?: Duration | undefined;
  /** Terminated and canceled instances. Default: `anyTerminal`. */
  readonly terminated?: Duration | undefined;
  /** All finished instances. Default: no limit. */
  readonly anyTerminal?: Duration | undefined;
  /**
   * The maximum number of finished instances of the app ID; those that finished longest ago are removed. It may be
   * exceeded by a tenth, and by 100 for each host. Default: no limit.
   */
  readonly maxCount?: number | undefined;
}

/** The JSON schema of {@link WorkflowsOptions}. */
export const WORKFLOWS_OPTIONS_SCHEMA: JsonSchema = optionsSchema<WorkflowsOptions>({
  maxConcurrentWorkflows: POSITIVE,
  maxConcurrentActivities: POSITIVE,
  maxIdleInstances: NOT_NEGATIVE,
  missingCodeTimeout: DURATION,
  maxCrashes: NOT_NEGATIVE,
  retention: optionsSchema<WorkflowRetention>({
    completed: DURATION,
    failed: DURATION,
    terminated: DURATION,
    anyTerminal: DURATION,
    maxCount: NOT_NEGATIVE,
  }),
});

/** Options, complete. */
export interface WorkflowsSettings extends Complete<Omit<WorkflowsOptions, 'missingCodeTimeout' | 'retention'>> {
  /** How long to wait for unregistered code, in milliseconds; `undefined` for no limit. */
  readonly missingCodeTimeoutMs: number | undefined;
  readonly retention: Readonly<Record<'completedMs' | 'failedMs' | 'terminatedMs' | 'maxCount', number | undefined>>;
}

/** How long an instance that has ended with a status is kept, in milliseconds; `undefined` for no limit. */
export function retentionOf(
  { retention }: Pick<WorkflowsSettings, 'retention'>,
  status: WorkflowStatus,
): number | undefined {
  if (status === 'COMPLETED') return retention.completedMs;
  if (status === 'FAILED') return retention.failedMs;
  return status === 'TERMINATED' || status === 'CANCELED' ? retention.terminatedMs : undefined;
}

/** Fills in defaults. */
export function resolveWorkflows({
  missingCodeTimeout,
  retention = {},
  ...limits
}: WorkflowsOptions): WorkflowsSettings {
  const { completed, failed, terminated, anyTerminal, maxCount } = retention;
  return {
    maxConcurrentWorkflows: 1_000,
    maxConcurrentActivities: 1_000,
    maxIdleInstances: 10_000,
    maxCrashes: DEFAULT_MAX_CRASHES,
    ...definedOnly(limits),
    missingCodeTimeoutMs: msOf(missingCodeTimeout),
    retention: {
      completedMs: msOf(completed ?? anyTerminal),
      failedMs: msOf(failed ?? anyTerminal),
      terminatedMs: msOf(terminated ?? anyTerminal),
      maxCount,
    },
  };
}
