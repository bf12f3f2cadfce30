import { randomUUID } from 'node:crypto';
import type { SidecarEventEmitter } from '../../events.ts';
import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { Work } from '../../util/work.ts';
import { WorkflowService } from './workflow-service.ts';

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

const positive = { type: 'integer', minimum: 1 };
const notNegative = { type: 'integer', minimum: 0 };

/** The JSON schema of {@link WorkflowsOptions}. */
export const WORKFLOWS_OPTIONS_SCHEMA: object = {
  type: 'object',
  additionalProperties: false,
  properties: {
    maxConcurrentWorkflows: positive,
    maxConcurrentActivities: positive,
    maxIdleInstances: notNegative,
    missingCodeTimeoutMs: notNegative,
    retention: {
      type: 'object',
      additionalProperties: false,
      properties: {
        completedMs: notNegative,
        failedMs: notNegative,
        terminatedMs: notNegative,
        anyTerminalMs: notNegative,
      },
    },
  },
};

/** What the sidecar gives. */
export interface WorkflowsSettings {
  readonly appId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: SidecarEventEmitter;
  readonly work: Work;
  readonly workflows: WorkflowsOptions;
  readonly stopTimeoutMs: number;
  readonly admit: () => void;
  /** This host has workflows from now on. */
  readonly onFirst: (service: WorkflowService) => void;
}

const DEFAULT_CONCURRENCY = 1_000;
const DEFAULT_IDLE_INSTANCES = 10_000;

/** Makes the block. */
export function makeWorkflows(settings: WorkflowsSettings): WorkflowService {
  const { appId, clock, logger, events, work, workflows: options, stopTimeoutMs, admit, onFirst } = settings;
  const { completedMs, failedMs, terminatedMs, anyTerminalMs } = options.retention ?? {};
  const service: WorkflowService = new WorkflowService({
    appId,
    admit,
    onFirst: () => onFirst(service),
    host: {
      clock,
      logger,
      events,
      work,
      newId: randomUUID,
      random: Math.random,
      patienceMs: stopTimeoutMs,
      maxConcurrentWorkflows: options.maxConcurrentWorkflows ?? DEFAULT_CONCURRENCY,
      maxConcurrentActivities: options.maxConcurrentActivities ?? DEFAULT_CONCURRENCY,
      maxIdleInstances: options.maxIdleInstances ?? DEFAULT_IDLE_INSTANCES,
      missingCodeTimeoutMs: options.missingCodeTimeoutMs,
      retention: {
        completedMs: completedMs ?? anyTerminalMs,
        failedMs: failedMs ?? anyTerminalMs,
        terminatedMs: terminatedMs ?? anyTerminalMs,
      },
    },
  });
  return service;
}
