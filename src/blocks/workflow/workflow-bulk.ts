import { checkOptions, invalidArgument } from '../../util/option-fields.ts';
import { textOfValue } from './model/payload.ts';
import { inBulk, NOT_OVER, OVER, type WorkflowBulkOptions, type WorkflowBulkResult } from './operations/bulk.ts';
import type { WorkflowListOptions, WorkflowPage } from './operations/list.ts';
import { RERUN_FIELDS, type WorkflowRerunOptions } from './operations/rerun.ts';
import type { WorkflowService } from './workflow-service.ts';

/** What is done to many workflows at once: part of {@link Workflows}. @public */
export class WorkflowBulk {
  /** @internal */
  readonly service: WorkflowService;

  /** @internal */
  constructor(service: WorkflowService) {
    this.service = service;
  }

  /**
   * Terminates the instances that a filter means and that are not over. Those whose termination fails are in the result.
   *
   * @example
   * ```ts
   * const { done, failed, hasMore } = await sidecar.workflows.terminateAll({ name: 'checkout', since: Date.now() - 3_600_000 });
   * ```
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for an empty filter, and for one that cannot be understood.
   */
  async terminateAll(filter: WorkflowBulkOptions, output?: unknown): Promise<WorkflowBulkResult> {
    const text = textOfValue(output, 'the output');
    return inBulk(filter, { statuses: NOT_OVER, ...this.#bulk, act: (id) => this.service.terminate(id, text) });
  }

  /**
   * Cancels the instances that a filter means and that are not over, as {@link Workflows.cancel} does; the result is that
   * of {@link WorkflowBulk.terminateAll}. Their code cleans up and ends later.
   *
   * @example
   * ```ts
   * await sidecar.workflows.cancelAll({ name: 'checkout', since: Date.now() - 3_600_000 });
   * ```
   */
  async cancelAll(filter: WorkflowBulkOptions): Promise<WorkflowBulkResult> {
    return inBulk(filter, { statuses: NOT_OVER, ...this.#bulk, act: (id) => this.service.cancel(id) });
  }

  /**
   * Removes the instances that a filter means and that are over, and their children; as {@link WorkflowBulk.terminateAll}.
   *
   * @example
   * ```ts
   * await sidecar.workflows.purgeAll({ status: 'COMPLETED', limit: 10_000 });
   * ```
   */
  async purgeAll(filter: WorkflowBulkOptions): Promise<WorkflowBulkResult> {
    return inBulk(filter, { statuses: OVER, ...this.#bulk, act: (id) => this.service.purgeIfThere(id) });
  }

  /**
   * Runs the instances that a filter means and that are over again, as {@link Workflows.rerun} does; the result is that of
   * {@link WorkflowBulk.terminateAll}. The new instances name the first ones in `rerunOf`. From the failure: those that have
   * failed. A second call runs the same ones once more: they stay as they are.
   *
   * @example
   * ```ts
   * const { done, failed } = await sidecar.workflows.rerunAll({ name: 'checkout', status: 'FAILED' }, { from: 'failure' });
   * console.log(done, failed);
   * ```
   */
  async rerunAll(
    filter: WorkflowBulkOptions,
    options: Pick<WorkflowRerunOptions, 'from'> = {},
  ): Promise<WorkflowBulkResult> {
    checkOptions('options of rerunAll', options, { from: RERUN_FIELDS.from }, invalidArgument);
    const statuses = options.from === 'failure' ? (['FAILED'] as const) : OVER;
    return inBulk(filter, { statuses, ...this.#bulk, act: (id) => this.service.rerun(id, options) });
  }

  get #bulk(): { readonly list: (options: WorkflowListOptions) => Promise<WorkflowPage> } {
    return { list: (options) => this.service.list(options) };
  }
}
