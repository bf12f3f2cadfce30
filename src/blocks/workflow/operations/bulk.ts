import { messageOf } from '../../../errors.ts';
import { checkOptions, invalidArgument, invalidIn, type OptionFields, whole } from '../../../util/option-fields.ts';
import { isFinished, STATUSES, type WorkflowStatus } from '../model/instance.ts';
import { FILTER_FIELDS, statusesOf, type WorkflowFilter, type WorkflowListOptions, type WorkflowPage } from './list.ts';

/** Which instances to act on: at least one field of the filter is needed. @public */
export interface WorkflowBulkOptions extends WorkflowFilter {
  /** The maximum number of instances to act on, 1 to 10,000. Default 1,000. */
  readonly limit?: number | undefined;
}

/** An instance on which an operation failed. @public */
export interface WorkflowBulkFailure {
  /** The instance. */
  readonly instanceId: string;
  /** A description of the reason. */
  readonly reason: string;
}

/** The outcome of an operation on many instances. @public */
export interface WorkflowBulkResult {
  /** The number of instances on which it has succeeded. */
  readonly done: number;
  /** The instances on which it failed. */
  readonly failed: readonly WorkflowBulkFailure[];
  /**
   * Whether there are more instances than `limit`. Terminate and purge: call it again for them. Rerun: an instance that
   * has run again is still among those that the filter means, so use a narrower filter or a higher limit.
   */
  readonly hasMore: boolean;
}

const DEFAULT_LIMIT = 1_000;
const MAX_LIMIT = 10_000;
const BULK_FIELDS: OptionFields<WorkflowBulkOptions> = { ...FILTER_FIELDS, limit: whole(1, MAX_LIMIT) };
/** Max instances acted on at the same time. */
const MAX_AT_ONCE = 32;
const PAGE = 1_000;

/** The statuses of instances that are over. */
export const OVER: readonly WorkflowStatus[] = STATUSES.filter(isFinished);
/** The statuses of instances that are not over. */
export const NOT_OVER: readonly WorkflowStatus[] = STATUSES.filter((status) => !isFinished(status));

/** An operation on instances with some of these statuses. */
export interface BulkWork {
  readonly statuses: readonly WorkflowStatus[];
  readonly list: (options: WorkflowListOptions) => Promise<WorkflowPage>;
  readonly act: (instanceId: string) => Promise<unknown>;
}

/** Acts on the instances that a filter means. Which these are is read first: what the work starts is not among them. */
export async function inBulk(options: WorkflowBulkOptions, work: BulkWork): Promise<WorkflowBulkResult> {
  const { ids, hasMore } = await idsOf(options, work);
  const failed: WorkflowBulkFailure[] = [];
  let next = 0;
  const actOnSome = async (): Promise<void> => {
    for (let id = ids[next++]; id !== undefined; id = ids[next++]) {
      const instanceId = id;
      await work.act(id).catch((error: unknown) => failed.push({ instanceId, reason: messageOf(error) }));
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_AT_ONCE, ids.length) }, actOnSome));
  return { done: ids.length - failed.length, failed, hasMore };
}

async function idsOf(
  options: WorkflowBulkOptions,
  { statuses, list }: BulkWork,
): Promise<{ readonly ids: readonly string[]; readonly hasMore: boolean }> {
  checkOptions('the filter', options, BULK_FIELDS, invalidIn('filter'));
  const { limit = DEFAULT_LIMIT, ...filter } = options;
  if (Object.values(filter).every((value) => value === undefined))
    throw invalidArgument(`the filter is empty: expected one of ${Object.keys(FILTER_FIELDS).join(', ')}`, 'filter');
  const asked = statusesOf(filter);
  const meant = statuses.filter((one) => asked?.has(one) ?? true);
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = { ...filter, status: meant, limit: PAGE, ...(cursor && { cursor }) };
    const { instances, cursor: next } = await list(page);
    for (const { instanceId } of instances) {
      if (ids.length === limit) return { ids, hasMore: true };
      ids.push(instanceId);
    }
    cursor = next;
  } while (cursor !== undefined);
  return { ids, hasMore: false };
}
