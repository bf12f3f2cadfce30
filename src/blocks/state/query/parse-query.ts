import { createHash } from 'node:crypto';
import { jsonElements, jsonMembers } from '../../../util/json-text.ts';
import { JsonMembers } from '../../json-members.ts';
import { quoted } from '../errors.ts';
import { kindOf } from './json-compare.ts';

const MAX_LEVELS = 16;
const MAX_OPERATORS = 100;
const MAX_PATH_LENGTH = 1_024;
const MAX_LIMIT = 1_000;

/** A checked filter. Operands are the texts of JSON values. */
export type FilterPlan =
  | {
      readonly operator: 'EQ' | 'NEQ' | 'GT' | 'GTE' | 'LT' | 'LTE';
      readonly path: readonly string[];
      readonly operand: string;
    }
  | { readonly operator: 'IN'; readonly path: readonly string[]; readonly operands: readonly string[] }
  | { readonly operator: 'AND' | 'OR'; readonly filters: readonly FilterPlan[] };

/** A member that results are sorted by. */
export interface SortPlan {
  readonly path: readonly string[];
  readonly isDescending: boolean;
}

/** The place behind which a page begins: the sort values of the last result, and its key. */
export interface PagePosition {
  readonly values: readonly (string | null)[];
  readonly key: string;
}

/** A checked query. */
export interface StateQueryPlan {
  readonly filter: FilterPlan | undefined;
  readonly sort: readonly SortPlan[];
  readonly limit: number;
  readonly after: PagePosition | undefined;
  /** Identifies filter and sort order: a token belongs to them. */
  readonly digest: string;
}

/** A query that cannot be understood. */
export class QueryProblem extends Error {
  override readonly name: string = 'QueryProblem';
}

/**
 * Parses the JSON text of a query.
 *
 * @throws QueryProblem
 */
export function parseQuery(text: string): StateQueryPlan {
  const members = membersOf(text, 'the query');
  const filterText = members.get('filter');
  const sortText = members.get('sort') ?? '[]';
  const filter = filterText === undefined ? undefined : new FilterParser().parse(filterText, 1);
  const sort = (members.list('sort') ?? []).map(parseSort);
  const digest = createHash('sha256')
    .update(`${filterText ?? '{}'}\n${sortText}`)
    .digest('base64url')
    .slice(0, 16);
  const page = membersOf(members.get('page') ?? '{}', 'page');
  return { filter, sort, digest, limit: parseLimit(page.get('limit')), after: parseToken(page, digest, sort) };
}

class FilterParser {
  #operators = 0;

  parse(text: string, level: number): FilterPlan {
    if (level > MAX_LEVELS) throw new QueryProblem(`the filter has more than ${MAX_LEVELS} levels`);
    if (++this.#operators > MAX_OPERATORS)
      throw new QueryProblem(`the filter has more than ${MAX_OPERATORS} operators`);
    const [operator, value] = onlyMember(text, 'a filter', 'one operator');
    switch (operator) {
      case 'AND':
      case 'OR': {
        const texts = listOf(value, operator);
        if (texts.length < 2) throw new QueryProblem(`${operator} has ${texts.length} filters: expected two or more`);
        return { operator, filters: texts.map((one) => this.parse(one, level + 1)) };
      }
      case 'EQ':
      case 'NEQ': {
        const [path, operand] = onlyMember(value, operator, 'one path');
        return { operator, path: parsePath(path), operand };
      }
      case 'GT':
      case 'GTE':
      case 'LT':
      case 'LTE': {
        const [path, operand] = onlyMember(value, operator, 'one path');
        if (kindOf(operand) !== 'number') throw new QueryProblem(`${operator} of ${quoted(path)} has no number`);
        return { operator, path: parsePath(path), operand };
      }
      case 'IN': {
        const [path, list] = onlyMember(value, operator, 'one path');
        const operands = listOf(list, operator);
        if (operands.length === 0) throw new QueryProblem(`IN of ${quoted(path)} has an empty list`);
        return { operator, path: parsePath(path), operands };
      }
      default:
        throw new QueryProblem(
          `operator ${quoted(operator)} is not known: expected EQ, NEQ, GT, GTE, LT, LTE, IN, AND or OR`,
        );
    }
  }
}

function parseSort(text: string): SortPlan {
  const members = membersOf(text, 'an element of sort');
  const key = members.text('key');
  if (key === undefined) throw new QueryProblem('an element of sort has no key');
  const order = members.text('order') ?? 'ASC';
  if (order !== 'ASC' && order !== 'DESC') throw new QueryProblem(`order is ${quoted(order)}: expected ASC or DESC`);
  return { path: parsePath(key), isDescending: order === 'DESC' };
}

function parsePath(path: string): readonly string[] {
  const names = path.split('.');
  if (path.length > MAX_PATH_LENGTH || names.includes(''))
    throw new QueryProblem(`path ${quoted(path)} is not names with dots between them`);
  return names;
}

function parseLimit(text: string | undefined): number {
  if (text === undefined) return MAX_LIMIT;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new QueryProblem(`limit is ${quoted(text)}: expected an integer from 1 to ${MAX_LIMIT}`);
}

/** The token of a page that ends there. */
export function tokenOf({ digest }: Pick<StateQueryPlan, 'digest'>, { values, key }: PagePosition): string {
  return Buffer.from(JSON.stringify([digest, key, ...values])).toString('base64url');
}

function parseToken(page: JsonMembers, digest: string, sort: readonly SortPlan[]): PagePosition | undefined {
  const token = page.text('token') ?? '';
  if (token === '') return undefined;
  const [of, key, ...values] = contentOf(token);
  const isWhole = values.length === sort.length && values.every((value) => value === null || typeof value === 'string');
  if (of !== digest || typeof key !== 'string' || !isWhole)
    throw new QueryProblem(
      'the token is not one of this query: expected that of an answer to the same filter and sort',
    );
  // The cast is safe: that was checked.
  return { key, values: values as readonly (string | null)[] };
}

function contentOf(token: string): readonly unknown[] {
  try {
    const content: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    return Array.isArray(content) ? content : [];
  } catch {
    return [];
  }
}

function membersOf(text: string, what: string): JsonMembers {
  return new JsonMembers(text, what, (problem) => new QueryProblem(problem));
}

function onlyMember(text: string, what: string, expected: string): readonly [string, string] {
  if (kindOf(text) !== 'object') throw new QueryProblem(`${what} is not an object: expected one with ${expected}`);
  const members = jsonMembers(text);
  const [only] = members;
  if (members.length !== 1 || only === undefined)
    throw new QueryProblem(`${what} has ${members.length} members: expected ${expected}`);
  return [only.key, only.value];
}

function listOf(text: string, what: string): readonly string[] {
  if (kindOf(text) !== 'array') throw new QueryProblem(`${what} is not a list`);
  return jsonElements(text);
}
