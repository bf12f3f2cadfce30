import { createRequire } from 'node:module';
import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { messageOf } from '../errors.ts';

const require = createRequire(import.meta.url);

/** The variables of a condition and their types. */
export type Variables = Readonly<Record<string, 'int' | 'map'>>;

/** Evaluates a condition; throws if that fails. Values of type `int` are bigints. */
export type Condition = (values: Readonly<Record<string, unknown>>) => boolean;

/** Limits of a condition: conditions are short, not programs. */
const LIMITS = { maxAstNodes: 1_000, maxDepth: 50, maxListElements: 500, maxMapEntries: 100, maxCallArguments: 8 };

/** Limits of the pattern check; in steps instead of time, so that the result is the same everywhere. */
const PATTERN_CHECK = { maxSteps: 5_000, timeout: Number.POSITIVE_INFINITY };

/**
 * Compiles a CEL expression; `what` names it in messages, such as `match expression`.
 *
 * @throws Error naming the problem: syntax, an unknown name, a result that is not boolean, a pattern in `matches()`
 * that is not a literal or could backtrack catastrophically.
 */
export function compileCondition(expression: string, what: string, variables: Variables): Condition {
  const subject = `${what} ${JSON.stringify(expression)}`;
  const environment = new Environment({ limits: LIMITS, homogeneousAggregateLiterals: false });
  for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, type);
  const parsed = parseWith(environment, expression, subject);
  const { valid, error, type } = parsed.check();
  if (!valid) throw invalid(subject, messageOf(error));
  if (type !== 'bool' && type !== 'dyn') throw invalid(subject, `its result is of type ${type}: expected bool`);
  vetPatterns(parsed.ast, subject);
  return (values) => {
    const result: unknown = parsed(values);
    if (typeof result !== 'boolean') throw new Error(`the result of ${what} ${expression} was not a boolean`);
    return result;
  };
}

function parseWith(environment: Environment, expression: string, subject: string): ReturnType<Environment['parse']> {
  try {
    return environment.parse(expression);
  } catch (cause) {
    throw invalid(subject, messageOf(cause), cause);
  }
}

function invalid(subject: string, problem: string, cause?: unknown): Error {
  const [firstLine] = problem.split('\n');
  return new Error(`${subject}: ${firstLine}`, { cause });
}

/** `matches()` runs JavaScript's regular expressions, which can take exponential time. */
function vetPatterns(node: ASTNode, subject: string): void {
  for (const child of childrenOf(node.args)) vetPatterns(child, subject);
  if ((node.op !== 'rcall' && node.op !== 'call') || node.args[0] !== 'matches') return;
  const pattern = node.op === 'rcall' ? node.args[2][0] : node.args[1][1];
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') {
    throw invalid(subject, 'matches() takes a literal pattern only');
  }
  vetPattern(pattern.args, subject);
}

function vetPattern(pattern: string, subject: string): void {
  // Loaded by the first pattern: few rules have one, and the package is large.
  const { isSafePattern } = require('redos-detector') as typeof import('redos-detector');
  let safe: boolean;
  try {
    safe = isSafePattern(pattern, PATTERN_CHECK).safe && new RegExp(pattern) instanceof RegExp;
  } catch (cause) {
    throw invalid(
      subject,
      `pattern ${JSON.stringify(pattern)} is not a regular expression: ${messageOf(cause)}`,
      cause,
    );
  }
  if (safe) return;
  const hint =
    'it could backtrack for very long; use startsWith(), endsWith() or contains(), or a pattern in which no two ' +
    'repetitions can match the same text';
  throw invalid(subject, `pattern ${JSON.stringify(pattern)} is refused: ${hint}`);
}

function childrenOf(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(childrenOf);
  return isNode(args) ? [args] : [];
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}
