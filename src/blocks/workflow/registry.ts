import { SidecarError } from '../../errors.ts';
import { asyncProgram, type CodeNames } from './async-program.ts';
import {
  type ActivityDefinition,
  type ActivityFunction,
  checkName,
  type WorkflowDefinition,
  type WorkflowFunction,
} from './definition.ts';
import type { Program } from './execution.ts';

/** Code by name, and names of code. */
export class Registry implements CodeNames {
  readonly #programs = new Map<string, Program>();
  readonly #activities = new Map<string, ActivityFunction>();
  readonly #workflowNames = new Map<object, string>();
  readonly #activityNames = new Map<object, string>();
  readonly #onChange: () => void;

  /** `onChange` hears of code that was not there before. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** How many workflows there are. */
  get size(): number {
    return this.#programs.size;
  }

  /** @throws SidecarError `ERR_CONFIGURATION` when the name is taken by other code. */
  addWorkflow(name: string, run: WorkflowFunction): void {
    checkName('workflow', name);
    if (this.#workflowNames.get(run) === name && this.#programs.has(name)) return;
    this.addProgram(name, asyncProgram(asTold(run), this), run);
  }

  addProgram(name: string, program: Program, code: object = program): void {
    checkName('workflow', name);
    if (this.#programs.has(name))
      throw new SidecarError(
        'ERR_CONFIGURATION',
        `workflow ${JSON.stringify(name)} is registered already, with other code`,
      );
    this.#programs.set(name, program);
    this.#workflowNames.set(code, name);
    this.#onChange();
  }

  addActivity(name: string, run: ActivityFunction): void {
    checkName('activity', name);
    const present = this.#activities.get(name);
    if (present === run) return;
    if (present !== undefined)
      throw new SidecarError(
        'ERR_CONFIGURATION',
        `activity ${JSON.stringify(name)} is registered already, with other code`,
      );
    this.#activities.set(name, run);
    this.#activityNames.set(run, name);
    this.#onChange();
  }

  program(name: string): Program | undefined {
    return this.#programs.get(name);
  }

  activityOf(name: string): ActivityFunction | undefined {
    return this.#activities.get(name);
  }

  activity(code: ActivityDefinition | ActivityFunction): { readonly name: string; readonly run: ActivityFunction } {
    if (typeof code === 'object') return { name: code.name, run: code.run };
    const name = this.#activityNames.get(code) ?? code.name;
    checkName('activity', name);
    return { name, run: code };
  }

  /** The name of a workflow; a definition is registered by being used. */
  workflow(code: WorkflowDefinition | WorkflowFunction): string {
    if (typeof code === 'object') {
      if (!this.#programs.has(code.name)) this.addWorkflow(code.name, code.run);
      return code.name;
    }
    const name = this.#workflowNames.get(code) ?? code.name;
    checkName('workflow', name);
    if (!this.#programs.has(name)) this.addWorkflow(name, code);
    return name;
  }
}

/** What input a workflow takes is for those to know who start it. */
function asTold(run: WorkflowFunction): WorkflowFunction<unknown> {
  return run as WorkflowFunction<unknown>;
}
