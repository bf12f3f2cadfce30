import { messageOf } from '../../../errors.ts';
import type { Logger } from '../../../util/logger.ts';
import { evaluateInTurn, ruleTurn } from './rule-turns.ts';
import { compileMatch, type Matcher } from './rules.ts';
import type { RouteRule } from './subscription.ts';

interface CompiledRule {
  readonly rule: RouteRule;
  readonly matches: Matcher | undefined;
  warned: boolean;
}

/** A subscription's rules, compiled. */
export class RouteTable {
  readonly #rules: readonly CompiledRule[];
  readonly #logger: Logger;

  /** @throws Error when a rule does not compile. */
  constructor(rules: readonly RouteRule[], logger: Logger) {
    this.#logger = logger;
    this.#rules = rules.map((rule) => ({
      rule,
      matches: rule.match.trim() === '' ? undefined : compileMatch(rule.match),
      warned: false,
    }));
  }

  /** A promise to wait for before the next message; then ask again. `undefined`: nothing to wait for. */
  turn(): Promise<void> | undefined {
    return this.#isPlain ? undefined : ruleTurn();
  }

  /** The path of the first rule that holds. The event is parsed only if a rule needs it. */
  pathFor(makeEvent: () => unknown): string | undefined {
    return this.#isPlain ? this.#rules[0]?.rule.path : evaluateInTurn(() => this.#evaluate(makeEvent));
  }

  /** Whether no expression is evaluated. */
  get #isPlain(): boolean {
    return this.#rules[0]?.matches === undefined;
  }

  #evaluate(makeEvent: () => unknown): string | undefined {
    let event: unknown;
    for (const compiled of this.#rules) {
      if (compiled.matches === undefined) return compiled.rule.path;
      event ??= makeEvent();
      if (this.#holds(compiled, compiled.matches, event)) return compiled.rule.path;
    }
    return undefined;
  }

  #holds(compiled: CompiledRule, matches: Matcher, event: unknown): boolean {
    try {
      return matches(event);
    } catch (error) {
      if (!compiled.warned)
        this.#logger.warn(
          { match: compiled.rule.match, error: messageOf(error) },
          'rule could not be evaluated: treated as false',
        );
      compiled.warned = true;
      return false;
    }
  }
}
