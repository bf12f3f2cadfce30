import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { messageOf } from '../errors.ts';
import { limitSteps, StepBudget } from './cel-budget.ts';
import { compileRe2, type Re2Pattern } from './re2.ts';

/** The variables of a condition and their types. */
export type Variables = Readonly<Record<string, 'int' | 'map'>>;

/**
 * Evaluates a condition; throws if that fails, `TooManySteps` if it would hold up the process: see `limitSteps`. Values of
 * type `int` are bigints.
 */
export type Condition = (values: Readonly<Record<string, unknown>>) => boolean;

/** Limits of a condition: conditions are short, not programs. */
const LIMITS = { maxAstNodes: 1_000, maxDepth: 50, maxListElements: 500, maxMapEntries: 100, maxCallArguments: 8 };

/**
 * Compiles a CEL expression; `what` names it in messages, such as `match expression`.
 *
 * @throws Error naming the problem: syntax, an unknown name, a result that is not boolean, a pattern in `matches()`
 * that is not a literal, not RE2, or too large.
 */
export function compileCondition(expression: string, what: string, variables: Variables): Condition {
  const subject = `${what} ${JSON.stringify(expression)}`;
  const environment = new Environment({ limits: LIMITS, homogeneousAggregateLiterals: false });
  for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, type);
  const budget = new StepBudget();
  const patterns = new Map<string, Re2Pattern>();
  registerMatches(environment, patterns, budget);
  const parsed = parseWith(environment, expression, subject);
  takePatterns(parsed.ast, patterns, subject);
  const { valid, error, type } = parsed.check();
  if (!valid) throw invalid(subject, messageOf(error));
  if (type !== 'bool' && type !== 'dyn') throw invalid(subject, `its result is of type ${type}: expected bool`);
  limitSteps(parsed, budget);
  return (values) => {
    budget.renew();
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

/** The form of `matches()` that is called on a text. cel-js has one of its own, which cannot be replaced. */
const ON_TEXT = 'matchesRe2';

/** Both forms of `matches()`, for patterns that are known. */
function registerMatches(
  environment: Environment,
  patterns: ReadonlyMap<string, Re2Pattern>,
  budget: StepBudget,
): void {
  const matches = (text: string, pattern: string): boolean => {
    const compiled = patterns.get(pattern);
    if (compiled === undefined) throw new Error('matches() takes a literal pattern only');
    budget.spendMatch(text.length, compiled.size);
    return compiled.test(text);
  };
  environment.registerFunction('matches(string, string): bool', matches);
  environment.registerFunction(`string.${ON_TEXT}(string): bool`, matches);
}

/** Compiles the pattern of each `matches()`, and has it run by the functions above. */
function takePatterns(node: ASTNode, patterns: Map<string, Re2Pattern>, subject: string): void {
  for (const child of childrenOf(node.args)) takePatterns(child, patterns, subject);
  if ((node.op !== 'rcall' && node.op !== 'call') || node.args[0] !== 'matches') return;
  const pattern = node.op === 'rcall' ? node.args[2][0] : node.args[1][1];
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') {
    throw invalid(subject, 'matches() takes a literal pattern only');
  }
  patterns.set(pattern.args, compilePattern(pattern.args, subject));
  if (node.op === 'rcall') node.args[0] = ON_TEXT;
}

function compilePattern(pattern: string, subject: string): Re2Pattern {
  try {
    return compileRe2(pattern);
  } catch (cause) {
    const problem = `pattern ${JSON.stringify(pattern)} is not a regular expression of CEL (RE2): ${messageOf(cause)}`;
    throw invalid(subject, problem, cause);
  }
}

function childrenOf(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(childrenOf);
  return isNode(args) ? [args] : [];
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}
