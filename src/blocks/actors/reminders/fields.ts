import type { PolicyFields } from '../../../timed/job.ts';

/** The fields of a timer as they were set: their types are checked, their values are not. */
export interface TimerFields {
  readonly dueTime?: string | undefined;
  readonly period?: string | undefined;
  /** How many calls there are in all, of a period that has no count; only code says it beside the period. */
  readonly repeats?: number | undefined;
  readonly ttl?: string | undefined;
  /** JSON text with every digit kept. */
  readonly data?: string | undefined;
  readonly callback?: string | undefined;
}

/** The fields of a reminder, likewise. */
export interface ReminderFields extends Omit<TimerFields, 'callback'> {
  /** Whether an existing reminder of the name is replaced. */
  readonly overwrite: boolean;
  readonly failurePolicy?: PolicyFields | undefined;
}
