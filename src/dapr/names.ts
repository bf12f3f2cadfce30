import { checkCanHaveName, checkName } from '../blocks/workflow/model/definition.ts';
import type { TWorkflow, TWorkflowActivity } from './types.ts';

/** A named function, or its name. */
type Named = TWorkflow | TWorkflowActivity<never, unknown>;

export class Names {
  readonly #names = new Map<Named, string>();

  /** Adds a name; the first name of a function takes precedence. */
  add(named: Named, name: string): void {
    if (!this.#names.has(named)) this.#names.set(named, name);
  }

  /** The registered name of a function, else the function's own name. */
  of(what: 'workflow' | 'activity', named: Named | string): string {
    if (typeof named !== 'string') checkCanHaveName(what, named);
    const name = typeof named === 'string' ? named : (this.#names.get(named) ?? named.name);
    checkName(what, name);
    return name;
  }
}
