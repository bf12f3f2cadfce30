import { isApiError } from '../../../errors.ts';
import { canBeRequested, entriesOf } from '../entries.ts';
import { queryFailed, queryNotSupported, storeFailed } from '../errors.ts';
import type { OpenStateStore } from '../open-state-store.ts';
import { textOfValue } from '../value-text.ts';
import { compareNumbers, compareValues, isEqual, kindOf, valueAt } from './json-compare.ts';
import { type FilterPlan, type PagePosition, type StateQueryPlan, tokenOf } from './parse-query.ts';

/** Keys that are read in one call. */
const PAGE = 256;

/** A found value. */
export interface QueriedValue {
  readonly key: string;
  /** The text of the JSON value. */
  readonly text: string;
  readonly etag: string | undefined;
  readonly expiresAt?: number | undefined;
}

/** A page of found values. */
export interface QueryPage {
  readonly results: readonly QueriedValue[];
  /** Where the next page begins; absent if this one is not full. */
  readonly token?: string;
}

/** @throws SidecarError for a store that cannot be queried */
export function checkQueryable(store: OpenStateStore): void {
  if (store.store.list === undefined) throw queryNotSupported(store.name);
  if (store.isEncrypted) throw queryFailed(store.name, 'its values are encrypted', 500);
}

/** Evaluates a query over the keys of the application. Every store does it in the same way: it lists, and we compare. */
export async function runQuery(store: OpenStateStore, plan: StateQueryPlan): Promise<QueryPage> {
  checkQueryable(store);
  try {
    return plan.sort.length === 0 ? await inKeyOrder(store, plan) : await sorted(store, plan);
  } catch (error) {
    if (isApiError(error)) throw error;
    const { message } = storeFailed('ERR_STATE_QUERY', store.name, undefined, error);
    throw queryFailed(store.name, message, 500, error);
  }
}

interface Candidate extends QueriedValue, PagePosition {}

async function inKeyOrder(store: OpenStateStore, plan: StateQueryPlan): Promise<QueryPage> {
  const found: Candidate[] = [];
  for await (const value of valuesOf(store, plan.after?.key)) {
    if (!fits(value.text, plan.filter)) continue;
    found.push({ ...value, values: [] });
    if (found.length === plan.limit) break;
  }
  return pageOf(found, plan);
}

/** Keeps the first ones only: of any number of values, a page and as much again are in memory. */
async function sorted(store: OpenStateStore, plan: StateQueryPlan): Promise<QueryPage> {
  let kept: Candidate[] = [];
  const compare = comparatorOf(plan);
  const cut = (): void => {
    kept = kept.sort(compare).slice(0, plan.limit);
  };
  for await (const value of valuesOf(store, undefined)) {
    if (!fits(value.text, plan.filter)) continue;
    const values = plan.sort.map(({ path }) => valueAt(value.text, path) ?? null);
    const candidate = { ...value, values };
    if (plan.after !== undefined && compare(candidate, plan.after) <= 0) continue;
    kept.push(candidate);
    if (kept.length >= 2 * plan.limit) cut();
  }
  cut();
  return pageOf(kept, plan);
}

function pageOf(found: readonly Candidate[], plan: StateQueryPlan): QueryPage {
  const last = found.at(-1);
  if (last === undefined || found.length < plan.limit) return { results: found };
  return { results: found, token: tokenOf(plan, last) };
}

function comparatorOf({ sort }: StateQueryPlan): (one: PagePosition, other: PagePosition) => number {
  return (one, other) => {
    for (const [index, { isDescending }] of sort.entries()) {
      const [left = null, right = null] = [one.values[index], other.values[index]];
      if (left === null || right === null) {
        if (left !== right) return left === null ? 1 : -1;
        continue;
      }
      const order = compareValues(left, right);
      if (order !== 0) return isDescending ? -order : order;
    }
    return Buffer.compare(Buffer.from(one.key), Buffer.from(other.key));
  };
}

/** The values of the application, in the order of their keys. */
async function* valuesOf(store: OpenStateStore, after: string | undefined): AsyncGenerator<QueriedValue> {
  for await (const entry of entriesOf(store, { after, atOnce: PAGE })) {
    const { key, etag, expiresAt } = entry;
    if (canBeRequested(key)) yield { key, text: textOfValue(entry), etag, expiresAt };
  }
}

function fits(text: string, filter: FilterPlan | undefined): boolean {
  if (filter === undefined) return true;
  switch (filter.operator) {
    case 'AND':
      return filter.filters.every((one) => fits(text, one));
    case 'OR':
      return filter.filters.some((one) => fits(text, one));
    default:
      return fitsValue(valueAt(text, filter.path), filter);
  }
}

function fitsValue(value: string | undefined, filter: Exclude<FilterPlan, { operator: 'AND' | 'OR' }>): boolean {
  if (value === undefined) return filter.operator === 'NEQ';
  switch (filter.operator) {
    case 'EQ':
      return isEqual(value, filter.operand);
    case 'NEQ':
      return !isEqual(value, filter.operand);
    case 'IN':
      return filter.operands.some((operand) => isEqual(value, operand));
    default: {
      if (kindOf(value) !== 'number') return false;
      const order = compareNumbers(value, filter.operand);
      const isInside = { GT: order > 0, GTE: order >= 0, LT: order < 0, LTE: order <= 0 };
      return isInside[filter.operator];
    }
  }
}
