import { SidecarError } from '../../../errors.ts';
import { checkFunction, nameOfKind } from '../../../util/known-fields.ts';
import { invalidArgument } from '../../../util/option-fields.ts';
import { type SlotLimit, slotLimitsOf } from '../../../util/run-limits.ts';
import { expectedNames } from '../../../util/suggest.ts';
import {
  type ActivityDefinition,
  type ActivityFunction,
  checkCanHaveName,
  checkName,
  type Replacement,
  type WorkflowDefinition,
  type WorkflowFunction,
} from '../model/definition.ts';
import type { Program } from '../replay/execution.ts';
import { asyncProgram, type CodeNames, type NamedActivity } from './async-program.ts';
import { CodeTable } from './code-table.ts';

/** Registered code by name, and the names of code. */
export class Registry implements CodeNames {
  readonly #programs = new CodeTable<Program>();
  readonly #activities = new CodeTable<ActivityFunction>();
  readonly #limits = new Map<string, readonly SlotLimit[]>();
  readonly #workflowNames = new Map<object, string>();
  readonly #activityNames = new Map<object, string>();
  readonly #onChange: () => void;
  readonly #onFirst: () => void;

  /** Calls `onChange` when code is added, and `onFirst` for the first workflow. */
  constructor(onChange: () => void, onFirst: () => void) {
    this.#onChange = onChange;
    this.#onFirst = onFirst;
  }

  get hasWorkflows(): boolean {
    return !this.#programs.isEmpty;
  }

  get hasActivities(): boolean {
    return !this.#activities.isEmpty;
  }

  /** @throws SidecarError `ERR_CONFIGURATION` when other code has this name. */
  add(definition: WorkflowDefinition | ActivityDefinition): void {
    checkDefinition(definition);
    const { kind, name, run } = definition;
    if (kind === 'workflow') return this.addWorkflow(name, run);
    const limits = limitsOf(definition);
    this.addActivity(name, run);
    if (limits !== undefined) this.#limits.set(name, limits);
  }

  addWorkflow(name: string, run: WorkflowFunction): void {
    checkCode('workflow', name, run);
    if (this.#workflowNames.get(run) === name && this.#programs.registered(name) !== undefined) return;
    this.addProgram(name, asyncProgram(asTold(run), this), run);
  }

  addProgram(name: string, program: Program, code: object = program): void {
    checkName('workflow', name);
    if (this.#programs.registered(name) !== undefined) throw isTaken('workflow', name);
    if (!this.hasWorkflows) this.#onFirst();
    this.#programs.register(name, program);
    this.#workflowNames.set(code, name);
    this.#onChange();
  }

  addActivity(name: string, run: ActivityFunction): void {
    checkCode('activity', name, run);
    const present = this.#activities.registered(name);
    if (present === run) return;
    if (present !== undefined) throw isTaken('activity', name);
    this.#activities.register(name, run);
    this.#activityNames.set(run, name);
    this.#onChange();
  }

  /** Replaces the code of a definition's name. */
  replace({ kind, name, run }: WorkflowDefinition | Omit<ActivityDefinition, 'options' | 'limits'>): Replacement {
    checkCode(kind, name, run);
    if (kind === 'workflow' && !this.hasWorkflows) this.#onFirst();
    const close =
      kind === 'workflow'
        ? this.#programs.replace(name, asyncProgram(asTold(run), this))
        : this.#activities.replace(name, run);
    this.#onChange();
    return { close, [Symbol.dispose]: close };
  }

  program(name: string): Program | undefined {
    return this.#programs.get(name);
  }

  activityOf(name: string): ActivityFunction | undefined {
    return this.#activities.get(name);
  }

  /** The limits of a registered activity. Those of its name hold for code that replaces it, too. */
  limitsOf(name: string): readonly SlotLimit[] | undefined {
    return this.#limits.get(name);
  }

  /** The name of a registered activity. @throws SidecarError `ERR_INVALID_ARGUMENT` */
  registeredActivity(code: ActivityDefinition | ActivityFunction | string): string {
    const name = typeof code === 'string' ? code : this.nameOfActivity(code);
    if (this.#activities.registered(name) !== undefined) return name;
    const names = expectedNames(
      name,
      this.#activities.names(),
      'no activity is: register those of the application first',
    );
    throw invalidArgument(`activity ${JSON.stringify(name)} is not registered${names}`, 'activity');
  }

  activity(code: ActivityDefinition | ActivityFunction): NamedActivity {
    const name = this.nameOfActivity(code);
    if (typeof code === 'function') return { name, run: code };
    const { run, options, limits } = code;
    const own = limits && !this.#limits.has(name) ? limitsOf(code) : undefined;
    if (own !== undefined) this.#limits.set(name, own);
    return { name, run, options };
  }

  nameOfActivity(code: ActivityDefinition | ActivityFunction): string {
    return nameOf('activity', code, this.#activityNames);
  }

  nameOfWorkflow(code: WorkflowDefinition | WorkflowFunction): string {
    return nameOf('workflow', code, this.#workflowNames);
  }

  /** The name of a workflow. Using a workflow registers its code. */
  workflow(code: WorkflowDefinition | WorkflowFunction): string {
    const name = this.nameOfWorkflow(code);
    if (this.#programs.registered(name) === undefined)
      this.addWorkflow(name, typeof code === 'object' ? code.run : code);
    return name;
  }
}

/** The limits of an activity; `undefined` without any. */
function limitsOf({ name, limits }: ActivityDefinition): readonly SlotLimit[] | undefined {
  return limits && slotLimitsOf(`options of activity ${JSON.stringify(name)}`, limits, invalidArgument);
}

/** The name of a definition, or of a function: the registered name, else the function's own. */
function nameOf(
  kind: 'workflow' | 'activity',
  code: WorkflowDefinition | WorkflowFunction | ActivityDefinition | ActivityFunction,
  registered: ReadonlyMap<object, string>,
): string {
  checkCanHaveName(kind, code);
  const name = typeof code === 'object' ? code.name : (registered.get(code) ?? code.name);
  // A definition has a checked name, but in JavaScript any object may come.
  if (typeof code !== 'object' || typeof name !== 'string') checkName(kind, name);
  return name;
}

/** In JavaScript anything may come, such as a plain function, and nothing would be registered. */
function checkDefinition(given: unknown): void {
  const kind = typeof given === 'object' && given !== null && 'kind' in given ? given.kind : undefined;
  if (kind === 'workflow' || kind === 'activity') return;
  const name = typeof given === 'function' && given.name !== '' ? ` ${JSON.stringify(given.name)}` : '';
  throw invalidArgument(
    `register was given ${nameOfKind(given)}${name}: expected what defineWorkflow or defineActivity returns, or a name and a function`,
    'definitions',
  );
}

function checkCode(kind: 'workflow' | 'activity', name: string, run: unknown): void {
  checkName(kind, name);
  checkFunction(run, `the code of ${kind} ${JSON.stringify(name)}`, 'run');
}

function isTaken(kind: 'workflow' | 'activity', name: string): SidecarError {
  return new SidecarError(
    'ERR_CONFIGURATION',
    `${kind} ${JSON.stringify(name)} is registered already, with other code: to have a test run other code, use ${kind === 'workflow' ? 'replaceWorkflow' : 'replaceActivity'}`,
  );
}

/** Only the caller who starts a workflow knows the type of its input. */
function asTold(run: WorkflowFunction): WorkflowFunction<unknown> {
  return run as WorkflowFunction<unknown>;
}
