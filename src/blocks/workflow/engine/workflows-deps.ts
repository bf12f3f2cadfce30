import type { Work } from '../../../util/work.ts';
import type { BlockDeps } from '../../block-deps.ts';
import type { WorkflowsSettings } from '../options.ts';

/** The dependencies of workflows. */
export interface WorkflowsDeps extends Omit<BlockDeps, 'work'>, WorkflowsSettings {
  /** Counts work in progress, see `Work`. */
  readonly work: Pick<Work, 'begin'>;
}
