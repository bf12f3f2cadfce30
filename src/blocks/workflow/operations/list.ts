import { checkNamePage } from '../../../util/check-limit.ts';
import { type Instant, readInstant } from '../../../util/duration.ts';
import {
  ANY_TEXT,
  BOOLEAN,
  checkOptions,
  field,
  INSTANT,
  invalidArgument,
  type OptionFields,
  WELL_FORMED,
  whole,
} from '../../../util/option-fields.ts';
import { didYouMean } from '../../../util/suggest.ts';
import type { Engine } from '../engine/engine.ts';
import { STATUSES, type WorkflowState, type WorkflowStatus } from '../model/instance.ts';
import { canBeInstanceId } from '../model/instance-id.ts';
import type { InstanceRecord } from '../storage/record.ts';
import { stateOf, viewOf } from '../storage/render-instance.ts';

/** Which instances are meant: those for which all of it holds. @public */
export interface WorkflowFilter {
  /** Only instances with one of these statuses. Default: all. */
  readonly status?: WorkflowStatus | readonly WorkflowStatus[] | undefined;
  /** Only instances of this workflow. Default: all. */
  readonly name?: string | undefined;
  /** Only instances whose IDs begin with it. Default: all. */
  readonly prefix?: string | undefined;
  /** Only instances that were started at this instant or later. Default: all. */
  readonly since?: Instant | undefined;
  /** Only children of this instance. Default: all instances. */
  readonly parentId?: string | undefined;
}

/** Which instances to list. @public */
export interface WorkflowListOptions extends WorkflowFilter {
  /**
   * The greatest ID first. IDs that were made, and not given, sort by the time of their start: so the newest comes
   * first. Default: the smallest ID first.
   */
  readonly reverse?: boolean | undefined;
  /** The `cursor` of the previous page. */
  readonly cursor?: string | undefined;
  /** The maximum number of instances in a page, 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
}

/** A page of instances. @public */
export interface WorkflowPage {
  /** The instances, without their inputs. */
  readonly instances: readonly WorkflowState[];
  /** The cursor for the next page; absent on the last page. A page with a cursor may be empty. */
  readonly cursor?: string;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
export const FILTER_FIELDS: OptionFields<WorkflowFilter> = {
  status: { expected: expectedStatus },
  name: ANY_TEXT,
  prefix: WELL_FORMED,
  since: INSTANT,
  parentId: ANY_TEXT,
};
/** Of a list without pages. */
export const EACH_FIELDS: OptionFields<Omit<WorkflowListOptions, 'cursor' | 'limit'>> = {
  ...FILTER_FIELDS,
  reverse: BOOLEAN,
};
const LIST_FIELDS: OptionFields<WorkflowListOptions> = {
  ...EACH_FIELDS,
  // That of a page is the ID of an instance, which may be gone by now.
  cursor: field((value) => typeof value === 'string' && canBeInstanceId(value), 'that of a page'),
  limit: whole(1, MAX_LIMIT),
};
/** Max instances read for one page. */
const MAX_LOOKED_AT = 10_000;

/** Lists instances in the order of their IDs. */
export async function listInstances(
  { store, pool }: Pick<Engine, 'store' | 'pool'>,
  options: WorkflowListOptions,
): Promise<WorkflowPage> {
  checkOptions('options of listPage', options, LIST_FIELDS, invalidArgument);
  const { limit = DEFAULT_LIMIT, prefix = '', parentId, reverse = false } = options;
  checkNamePage({ prefix, cursor: options.cursor });
  const isAsked = matcherOf(options);
  const instances: WorkflowState[] = [];
  let from = options.cursor;
  // Not as few as are asked for: most of them may not be meant.
  const page = { prefix, parentId, reverse, limit: Math.max(limit, DEFAULT_LIMIT) };
  for (let lookedAt = 0; lookedAt < MAX_LOOKED_AT; lookedAt += page.limit) {
    const { found, next } = await store.list({ ...page, from }, (id) => pool.get(id)?.record);
    for (const { record } of found) {
      if (instances.length >= limit) return { instances, cursor: record.instanceId };
      if (isAsked(record)) instances.push(stateOf(viewOf(record, undefined, pool.waitsOf(record))));
    }
    from = next;
    if (from === undefined) return { instances };
  }
  return from === undefined ? { instances } : { instances, cursor: from };
}

/** The statuses that a filter asks for; `undefined` for all. */
export function statusesOf({ status }: WorkflowFilter): ReadonlySet<WorkflowStatus> | undefined {
  return status === undefined ? undefined : new Set([status].flat());
}

function expectedStatus(given: unknown): string | undefined {
  const wrong = [given].flat().filter((one) => !STATUSES.some((status) => status === one));
  if (wrong.length === 0) return undefined;
  const [first] = wrong;
  return `${STATUSES.join(', ')}${typeof first === 'string' ? didYouMean(first, STATUSES) : ''}`;
}

/** Whether an instance is meant, by what its record tells. */
function matcherOf({ name, since, ...filter }: WorkflowFilter): (record: InstanceRecord) => boolean {
  const statuses = statusesOf(filter);
  const sinceAt = readInstant(since) ?? Number.NEGATIVE_INFINITY;
  return (record) =>
    (statuses?.has(record.status) ?? true) &&
    (name === undefined || record.name === name) &&
    record.createdAt >= sinceAt;
}
