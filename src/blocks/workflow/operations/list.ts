import { SidecarError } from '../../../errors.ts';
import { checkFields, fieldNames } from '../../../util/known-fields.ts';
import type { Engine } from '../engine/engine.ts';
import type { WorkflowState, WorkflowStatus } from '../model/instance.ts';
import { stateOf, viewOf } from '../storage/render-instance.ts';

/** Which instances to list. @public */
export interface ListOptions {
  /** Only instances with one of these statuses. Default: all. */
  readonly status?: WorkflowStatus | readonly WorkflowStatus[];
  /** Only instances of this workflow. Default: all. */
  readonly name?: string;
  /** The `cursor` of the previous page. */
  readonly cursor?: string;
  /** The maximum number of instances in a page, 1 to 1,000. Default 100. */
  readonly limit?: number;
}

/** A page of instances. @public */
export interface InstancePage {
  /** The instances, without their inputs. */
  readonly instances: readonly WorkflowState[];
  /** The cursor for the next page; absent on the last page. */
  readonly cursor?: string;
}

const LIST_FIELDS = fieldNames<ListOptions>({ status: true, name: true, cursor: true, limit: true });
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
/** Max instances read for one page. */
const MAX_LOOKED_AT = 10_000;

/** Lists instances in the order of their IDs. */
export async function listInstances(
  { store, pool }: Pick<Engine, 'store' | 'pool'>,
  options: ListOptions,
): Promise<InstancePage> {
  checkFields(options, LIST_FIELDS, 'options of list');
  const { status, name, limit = DEFAULT_LIMIT } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new SidecarError('ERR_BAD_REQUEST', `limit is ${limit}: expected a whole number from 1 to ${MAX_LIMIT}`);
  const statuses = status === undefined ? undefined : new Set(typeof status === 'string' ? [status] : status);
  const instances: WorkflowState[] = [];
  let cursor = options.cursor;
  for (let lookedAt = 0; lookedAt < MAX_LOOKED_AT; ) {
    // One more than the page holds: is there a next page?
    const page = await store.list(cursor, limit + 1, (id) => pool.get(id)?.record);
    for (const { record } of page.slice(0, limit)) {
      if (instances.length >= limit) return { instances, cursor: record.instanceId };
      const isAsked = (statuses?.has(record.status) ?? true) && (name === undefined || record.name === name);
      if (isAsked) instances.push(stateOf(viewOf(record, undefined, pool.missingCodeOf(record))));
    }
    lookedAt += page.length;
    cursor = page[limit]?.record.instanceId;
    if (cursor === undefined) return { instances };
  }
  return cursor === undefined ? { instances } : { instances, cursor };
}
