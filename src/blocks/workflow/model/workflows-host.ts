import type { Work } from '../../../util/work.ts';
import type { BlockHost } from '../../block-host.ts';
import type { WorkflowsSettings } from '../options.ts';

/** The dependencies of workflows. */
export interface WorkflowsHost extends Omit<BlockHost, 'work'>, WorkflowsSettings {
  /** Notes what runs, see `Work`. */
  readonly work: Pick<Work, 'begin'>;
}
