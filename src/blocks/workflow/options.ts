import { definedOnly } from '../../util/defined-only.ts';
import { type JsonSchema, NOT_NEGATIVE, optionsSchema, POSITIVE } from '../../util/options-schema.ts';

/** How workflows are run. @public */
export interface WorkflowsOptions {
  /** The most turns of workflows at a time; a turn lasts until it is kept. Default 1,000. */
  readonly maxConcurrentWorkflows?: number;
  /** The most activities at a time. Default 1,000. */
  readonly maxConcurrentActivities?: number;
  /**
   * How many instances that wait for something stay in memory; others are read and replayed when something comes for
   * them. Default 10,000.
   */
  readonly maxIdleInstances?: number;
  /**
   * How long code that is not registered is waited for, in milliseconds, from when this process first needs it. After
   * that, what needs it fails with `NotRegisteredError`; 0: at once. Default: without end.
   */
  readonly missingCodeTimeoutMs?: number;
  /** How long instances that are over are kept. Default: until they are purged. */
  readonly retention?: WorkflowRetention;
}

/** How long instances that are over are kept, in milliseconds. The special ones go before `anyTerminalMs`. @public */
export interface WorkflowRetention {
  /** Those that completed. */
  readonly completedMs?: number;
  /** Those that failed. */
  readonly failedMs?: number;
  /** Those that were terminated. */
  readonly terminatedMs?: number;
  /** All of them. */
  readonly anyTerminalMs?: number;
}

/** The JSON schema of {@link WorkflowsOptions}. */
export const WORKFLOWS_OPTIONS_SCHEMA: JsonSchema = optionsSchema<WorkflowsOptions>({
  maxConcurrentWorkflows: POSITIVE,
  maxConcurrentActivities: POSITIVE,
  maxIdleInstances: NOT_NEGATIVE,
  missingCodeTimeoutMs: NOT_NEGATIVE,
  retention: optionsSchema<WorkflowRetention>({
    completedMs: NOT_NEGATIVE,
    failedMs: NOT_NEGATIVE,
    terminatedMs: NOT_NEGATIVE,
    anyTerminalMs: NOT_NEGATIVE,
  }),
});

/** Options, complete. */
export interface WorkflowsSettings extends Required<Omit<WorkflowsOptions, 'missingCodeTimeoutMs' | 'retention'>> {
  /** How long code that is not registered is waited for; without end when it is not given. */
  readonly missingCodeTimeoutMs: number | undefined;
  readonly retention: Readonly<Record<Exclude<keyof WorkflowRetention, 'anyTerminalMs'>, number | undefined>>;
}

/** Fills in defaults. */
export function resolveWorkflows({
  missingCodeTimeoutMs,
  retention = {},
  ...limits
}: WorkflowsOptions): WorkflowsSettings {
  const { completedMs, failedMs, terminatedMs, anyTerminalMs } = retention;
  return {
    maxConcurrentWorkflows: 1_000,
    maxConcurrentActivities: 1_000,
    maxIdleInstances: 10_000,
    ...definedOnly(limits),
    missingCodeTimeoutMs,
    retention: {
      completedMs: completedMs ?? anyTerminalMs,
      failedMs: failedMs ?? anyTerminalMs,
      terminatedMs: terminatedMs ?? anyTerminalMs,
    },
  };
}
