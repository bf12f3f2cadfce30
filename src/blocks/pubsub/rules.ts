import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { isSafePattern } from 'redos-detector';
import { messageOf } from '../../errors.ts';

/** Decides whether a rule holds for an event; throws when it cannot be evaluated. */
export type Matcher = (event: unknown) => boolean;

const ALWAYS: Matcher = () => true;

/** Bounds on a rule, so that no rule is a program: rules are sentences. */
const LIMITS = { maxAstNodes: 1_000, maxDepth: 50, maxListElements: 500, maxMapEntries: 100, maxCallArguments: 8 };

/** How far a pattern is examined; by steps, not by time, so that the answer is the same everywhere. */
const PATTERN_CHECK = { maxSteps: 5_000, timeout: Number.POSITIVE_INFINITY };

/**
 * Compiles a CEL expression over `event`, the whole CloudEvent. Empty is always true. JSON numbers are doubles.
 *
 * @throws Error naming what is wrong: syntax, an unknown name, a result that is no boolean, a pattern in `matches()`
 * that is not a literal or could backtrack catastrophically.
 */
export function compileMatch(expression: string): Matcher {
  if (expression.trim() === '') return ALWAYS;
  const environment = new Environment({ limits: LIMITS }).registerVariable('event', 'map');
  const parsed = parseWith(environment, expression);
  const { valid, error, type } = parsed.check();
  if (!valid) throw invalid(expression, messageOf(error));
  if (type !== 'bool' && type !== 'dyn') throw invalid(expression, `its result is of type ${type}: expected bool`);
  vetPatterns(parsed.ast, expression);
  return (event) => {
    const result: unknown = parsed({ event });
    if (typeof result !== 'boolean') throw new Error(`the result of match expression ${expression} was not a boolean`);
    return result;
  };
}

function parseWith(environment: Environment, expression: string): ReturnType<Environment['parse']> {
  try {
    return environment.parse(expression);
  } catch (cause) {
    throw invalid(expression, messageOf(cause), cause);
  }
}

function invalid(expression: string, problem: string, cause?: unknown): Error {
  const [firstLine] = problem.split('\n');
  return new Error(`match expression ${JSON.stringify(expression)}: ${firstLine}`, { cause });
}

/** `matches()` runs JavaScript's regular expressions, which can take exponential time. */
function vetPatterns(node: ASTNode, expression: string): void {
  for (const child of childrenOf(node.args)) vetPatterns(child, expression);
  if ((node.op !== 'rcall' && node.op !== 'call') || node.args[0] !== 'matches') return;
  const pattern = node.op === 'rcall' ? node.args[2][0] : node.args[1][1];
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') {
    throw invalid(expression, 'matches() takes a literal pattern only');
  }
  vetPattern(pattern.args, expression);
}

function vetPattern(pattern: string, expression: string): void {
  let safe: boolean;
  try {
    safe = isSafePattern(pattern, PATTERN_CHECK).safe && new RegExp(pattern) instanceof RegExp;
  } catch (cause) {
    throw invalid(
      expression,
      `pattern ${JSON.stringify(pattern)} is no regular expression: ${messageOf(cause)}`,
      cause,
    );
  }
  if (safe) return;
  const hint =
    'it could backtrack for very long; use startsWith(), endsWith() or contains(), or a pattern in which no two ' +
    'repetitions can match the same text';
  throw invalid(expression, `pattern ${JSON.stringify(pattern)} is refused: ${hint}`);
}

function childrenOf(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(childrenOf);
  return isNode(args) ? [args] : [];
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}
