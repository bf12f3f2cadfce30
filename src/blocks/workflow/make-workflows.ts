import { randomUUID } from 'node:crypto';
import type { SidecarEventEmitter } from '../../events.ts';
import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { Work } from '../../util/work.ts';
import type { WorkflowsSettings } from './options.ts';
import { WorkflowService } from './workflow-service.ts';

/** What the sidecar gives. */
export interface MakeWorkflowsDeps {
  readonly appId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: SidecarEventEmitter;
  readonly work: Work;
  readonly workflows: WorkflowsSettings;
  readonly stopTimeoutMs: number;
  readonly admit: () => void;
  /** This host has workflows from now on. */
  readonly onFirst: (service: WorkflowService) => void;
}

/** Makes the block. */
export function makeWorkflows(deps: MakeWorkflowsDeps): WorkflowService {
  const { appId, clock, logger, events, work, workflows: settings, stopTimeoutMs, admit, onFirst } = deps;
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
      ...settings,
    },
  });
  return service;
}
