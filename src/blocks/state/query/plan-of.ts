import { queryFailed } from '../errors.ts';
import { parseQuery, QueryProblem, type StateQueryPlan } from './parse-query.ts';

/** @throws SidecarError `ERR_STATE_QUERY` for a query that cannot be understood */
export function planOf(storeName: string, text: string): StateQueryPlan {
  try {
    return parseQuery(text);
  } catch (error) {
    if (error instanceof QueryProblem) throw queryFailed(storeName, error.message, 400, error);
    throw error;
  }
}
