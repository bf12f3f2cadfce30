import { isUint8Array } from 'node:util/types';
import type { ParseResult } from '@marcbachmann/cel-js';

/**
 * The steps that one evaluation may take: some 5 ms, and some 10 as long as the code is not compiled. A step is about
 * 20 ns, the time in which one node of the expression is evaluated. Counted instead of measured, so that an event is
 * routed alike on every machine.
 */
const MAX_STEPS = 250_000;

/** A function is looked up by the types of its arguments. */
const CALL_STEPS = 20;
/** An error takes its stack along; `all()`, `exists()`, `||` and `&&` go on after one. */
const ERROR_STEPS = 500;
/** A date is read in a time zone through its text. */
const ZONE_STEPS = 10_000;
/** JavaScript lists all keys of an object, however few are looked at. */
const KEY_STEPS = 10;
/** How many characters are compared in one step. */
const COMPARED = 64;
/** How many characters a function reads in one step. */
const READ = 16;
/** How many of them {@link SLOW} functions read. */
const READ_SLOWLY = 2;
const SLOW: ReadonlySet<unknown> = new Set(['size', 'split', 'join', 'json']);
/**
 * How many instructions of a pattern look at a character in one step. Most patterns take some 20 ns for a character,
 * whatever their size; the worst ones up to 200 ns for each instruction.
 */
const MATCHED = 2;
/** A search for a longer text may begin again behind each character; `lastIndexOf` always does. */
const MAX_QUICK_SEARCH = 250;

/** Evaluates nodes. Its class is not exported. */
interface Evaluator {
  debugType(value: unknown): unknown;
  debugTypeDeep(value: unknown): unknown;
  tryEval(node: CheckedNode, context: unknown): unknown;
}

/** The members of a checked node by which cel-js evaluates it; its declarations leave them out. */
interface CheckedNode {
  readonly op: string;
  readonly args: unknown;
  readonly meta: { readonly alternate?: unknown; readonly macro?: unknown };
  handle?: (...operands: unknown[]) => unknown;
  evaluate(evaluator: Evaluator, node: CheckedNode, context: unknown): unknown;
}

interface Comprehension {
  readonly step: CheckedNode;
  condition?: (accumulated: unknown) => unknown;
}

/** An evaluation has taken all its steps. */
export class TooManySteps extends Error {}

/** Counts the steps of one evaluation at a time. */
export class StepBudget {
  #left = MAX_STEPS;

  renew(): void {
    this.#left = MAX_STEPS;
  }

  /** For a pattern of that many instructions and a text. @throws TooManySteps like {@link StepBudget.spend}. */
  spendMatch(textLength: number, patternSize: number): void {
    this.spend((textLength * patternSize) / MATCHED);
  }

  /** @throws TooManySteps when that is more than what is left, and from then on at each call. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooManySteps(`it takes more than ${MAX_STEPS} steps for this event`);
  }
}

/**
 * Bounds each evaluation of a checked expression, however large the event is: it goes through lists, reads texts and
 * compares values in {@link MAX_STEPS} steps, or throws `TooManySteps`. The rest of the work is in proportion to the
 * expression, whose size is limited. The budget is to be renewed before each evaluation.
 */
export function limitSteps(parsed: ParseResult, budget: StepBudget): void {
  // The cast is safe as long as cel-js has these members: tests of long evaluations see it when it has not.
  const root = parsed.ast as unknown as CheckedNode;
  limitEvaluator(evaluatorOf(parsed, root), budget);
  limitNode(root, budget, new Set());
}

/** It is handed to the root, which is replaced for that one evaluation. */
function evaluatorOf(parsed: ParseResult, root: { evaluate?: CheckedNode['evaluate'] }): Evaluator {
  let found: Evaluator | undefined;
  root.evaluate = (evaluator) => {
    found = evaluator;
  };
  parsed();
  delete root.evaluate;
  if (found === undefined) throw new Error('cel-js has not evaluated the expression');
  return found;
}

function limitEvaluator(evaluator: Evaluator, budget: StepBudget): void {
  // The type of a list or a map by itself. The one that cel-js takes goes down through first members: as far as the
  // event is deep, with a list of all keys at each map, and it keeps each type for ever. For it, [1] == ["a"] is an
  // error, too, which is false in CEL.
  evaluator.debugTypeDeep = evaluator.debugType;
  evaluator.tryEval = (node, context) => {
    try {
      return node.evaluate(evaluator, node, context);
    } catch (error) {
      if (error instanceof TooManySteps) throw error;
      budget.spend(ERROR_STEPS);
      return error;
    }
  };
}

/** Macros have nodes in common with the calls that they stand for. */
function limitNode(node: CheckedNode, budget: StepBudget, seen: Set<CheckedNode>): void {
  if (seen.has(node)) return;
  seen.add(node);
  for (const child of childrenOf(node)) limitNode(child, budget, seen);
  if (node.op === 'comprehension') limitIterations(node.args as Comprehension, budget);
  const { handle } = node;
  const cost = COSTS.get(node.op);
  if (handle === undefined || cost === undefined) return;
  node.handle = (...operands) => {
    budget.spend(cost(operands[0], operands[1], node));
    return handle(...operands);
  };
}

/** `condition` is asked before each element. */
function limitIterations(comprehension: Comprehension, budget: StepBudget): void {
  const { condition, step } = comprehension;
  const steps = sizeOf(step);
  comprehension.condition = (accumulated) => {
    budget.spend(steps);
    return condition === undefined || condition(accumulated);
  };
}

/** The nodes that are evaluated for each element; a comprehension in it counts its own. */
function sizeOf(node: CheckedNode): number {
  if (node.op === 'comprehension') return 1 + sizeOf((node.args as { iterable: CheckedNode }).iterable);
  return childrenOf(node).reduce((size, child) => size + sizeOf(child), 1);
}

/** In place of a call that is expanded, what it stands for. */
function childrenOf({ args, meta }: CheckedNode): CheckedNode[] {
  return nodesIn(meta.alternate ?? args);
}

function nodesIn(value: unknown): CheckedNode[] {
  if (isNode(value)) return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((one) => (Array.isArray(one) || isNode(one) ? nodesIn(one) : []));
}

function isNode(value: unknown): value is CheckedNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'meta' in value;
}

/** The steps that a node of a kind takes for its operands; for the list of them, if it is a call. */
type Cost = (left: unknown, right: unknown, node: CheckedNode) => number;

const COSTS: ReadonlyMap<string, Cost> = new Map<string, Cost>([
  ...['==', '!=', '<', '<=', '>', '>='].map((op): [string, Cost] => [op, comparisonSteps]),
  ['+', (left, right) => 1 + (lengthOf(left) + lengthOf(right)) / READ],
  ['in', (value, list) => (Array.isArray(list) && list.length > 0 ? list.length * weightOf(value) : 1)],
  ['comprehension', keySteps],
  ['call', (operands, _, { args }) => callSteps((args as readonly unknown[])[0], operands as readonly unknown[])],
  ['rcall', (operands, _, { args }) => callSteps((args as readonly unknown[])[0], operands as readonly unknown[])],
]);

function comparisonSteps(left: unknown, right: unknown): number {
  // Most comparisons: with each element of a long list, for instance.
  if (typeof left !== 'object' || typeof right !== 'object') return textSteps(left, right);
  const comparison = new Comparison();
  comparison.mayBeEqual(left, right);
  return comparison.steps;
}

/** Goes through two values as cel-js does, up to where they differ, and counts. Not all is counted if it is too much. */
class Comparison {
  steps = 0;

  mayBeEqual(left: unknown, right: unknown): boolean {
    if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) {
      this.steps += textSteps(left, right);
      // Numbers of different types may be equal.
      return left === right || (typeof left !== 'string' && typeof left !== 'boolean');
    }
    this.steps += 1;
    if (left === right) return true;
    if (Array.isArray(left) && Array.isArray(right)) return this.#mayListsBeEqual(left, right);
    if (isUint8Array(left) && isUint8Array(right)) this.steps += Math.min(left.length, right.length) / COMPARED;
    else if (isMap(left) && isMap(right)) return this.#mayMapsBeEqual(left, right);
    return false;
  }

  #mayListsBeEqual(left: readonly unknown[], right: readonly unknown[]): boolean {
    if (left.length !== right.length) return false;
    for (let at = 0; at < left.length && this.steps <= MAX_STEPS; at++)
      if (!this.mayBeEqual(left[at], right[at])) return false;
    return true;
  }

  #mayMapsBeEqual(left: object, right: object): boolean {
    const [keys, others] = [keySteps(left), keySteps(right)];
    this.steps += keys + others;
    if (keys !== others) return false;
    for (const [key, value] of left instanceof Map ? left : Object.entries(left)) {
      if (this.steps > MAX_STEPS) return true;
      const other: unknown = right instanceof Map ? right.get(key) : Reflect.get(right, key as string);
      if (!this.mayBeEqual(value, other)) return false;
    }
    return true;
  }
}

function textSteps(left: unknown, right: unknown): number {
  return typeof left === 'string' && typeof right === 'string' ? 1 + Math.min(left.length, right.length) / COMPARED : 1;
}

function isMap(value: object): boolean {
  return !Array.isArray(value) && !isUint8Array(value);
}

function callSteps(name: unknown, operands: readonly unknown[]): number {
  const [first, second] = operands;
  const length = Array.isArray(first) ? 0 : lengthOf(first);
  const reading = CALL_STEPS + length / (SLOW.has(name) ? READ_SLOWLY : READ);
  switch (name) {
    case 'size':
      return reading + keySteps(first);
    case 'join':
      return reading + weightOf(first) * COMPARED;
    case 'contains':
    case 'indexOf':
    case 'lastIndexOf':
    case 'split':
      return reading + searchSteps(length, lengthOf(second), name === 'lastIndexOf' ? 0 : MAX_QUICK_SEARCH);
    case 'duration':
      // The pattern of cel-js goes back and forth in a row of digits.
      return reading + length ** 3 / READ;
    default:
      return first instanceof Date && second !== undefined ? ZONE_STEPS : reading;
  }
}

function searchSteps(length: number, soughtLength: number, maxQuick: number): number {
  return soughtLength > maxQuick ? (length * soughtLength) / COMPARED : 0;
}

/** Of a text, a list or bytes; 0 of all else. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object') return 0;
  return Array.isArray(value) || isUint8Array(value) ? value.length : 0;
}

/** For listing the keys of a map; 0 for all else. */
function keySteps(value: unknown): number {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 0;
  return KEY_STEPS * (value instanceof Map ? value.size : Object.keys(value).length);
}

/** The steps in which a value is compared with its like, at least 1. Not all are counted if they are too many. */
function weightOf(value: unknown): number {
  const open = [value];
  let weight = 0;
  while (open.length > 0 && weight <= MAX_STEPS) {
    const one = open.pop();
    weight += 1 + lengthOf(one) / COMPARED + keySteps(one);
    if (Array.isArray(one)) for (const member of one) open.push(member);
    else if (typeof one === 'object' && one !== null)
      for (const member of one instanceof Map ? one.values() : Object.values(one)) open.push(member);
  }
  return weight;
}
