import { checkName } from '../blocks/workflow/model/definition.ts';
import type { TWorkflow, TWorkflowActivity } from './types.ts';

/** A function that has a name, or its name. */
type Named = TWorkflow | TWorkflowActivity<never, unknown>;

/** The names under which functions are registered. */
export class Names {
  readonly #names = new Map<Named, string>();

  /** Notes a name; the first one of a function counts. */
  add(named: Named, name: string): void {
    if (!this.#names.has(named)) this.#names.set(named, name);
  }

  /** The registered name of a function, else its own. */
  of(what: 'workflow' | 'activity', named: Named | string): string {
    const name = typeof named === 'string' ? named : (this.#names.get(named) ?? named.name);
    checkName(what, name);
    return name;
  }
}
