import type { Instant } from '../../../util/duration.ts';
import { parseDurationOption } from '../../../util/duration-option.ts';
import type { JsonInput } from '../../../util/jsonify.ts';
import { checkFunction, nameOfKind } from '../../../util/known-fields.ts';
import {
  ANYTHING,
  checkOptions,
  field,
  INSTANT,
  invalidArgument,
  type OptionFields,
} from '../../../util/option-fields.ts';
import { checkRetry } from '../../../util/retry-options.ts';
import { RUN_LIMIT_FIELDS, type RunLimits, slotLimitsOf } from '../../../util/run-limits.ts';
import { shown } from '../../../util/shown.ts';
import { checkSchema, type StandardSchema } from '../../../util/standard-schema.ts';
import { checkedActivity } from './checked-activity.ts';
import type { CallActivityOptions, WorkflowContext } from './context.ts';

/** The context of an activity. @public */
export interface ActivityContext {
  /** The workflow that called it. */
  readonly instanceId: string;
  /** The number of the call within the workflow. It is the same after a crash: use it as an idempotency key. */
  readonly activityId: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Fires when the time limit of the attempt is over, and when the sidecar stops and no longer waits for it. */
  readonly signal: AbortSignal;
}

/** The code of an activity: it may have side effects, and runs at least once. @public */
export type ActivityFunction<Input = never, Output = unknown> = (
  input: Input,
  context: ActivityContext,
) => Output | Promise<Output>;

/** The code of a workflow: it must be deterministic when it is replayed over the same history. @public */
export type WorkflowFunction<Input = never, Output = unknown, Status = unknown> = (
  context: WorkflowContext<Status>,
  input: Input,
) => Output | Promise<Output>;

/** A named workflow. Made by {@link defineWorkflow}. @public */
export interface WorkflowDefinition<Input = never, Output = unknown, Status = unknown> {
  /** `workflow`. */
  readonly kind: 'workflow';
  /** The name under which instances are stored. */
  readonly name: string;
  /** The code. */
  readonly run: WorkflowFunction<Input, Output, Status>;
}

/** A named activity. Made by `defineActivity`. @public */
export interface ActivityDefinition<Input = never, Output = unknown> {
  /** `activity`. */
  readonly kind: 'activity';
  /** The name in histories. */
  readonly name: string;
  /** How it is called, unless a call says otherwise. */
  readonly options: CallActivityOptions;
  /** The limits of its runs. Default: none. */
  readonly limits?: RunLimits | undefined;
  /** The code, with the checks of its schemas. */
  readonly run: ActivityFunction<Input, Output>;
}

/** Options of `defineActivity`. @public */
export interface ActivityOptions<Input = unknown, Parsed = Input, Result = unknown, Output = Result>
  extends CallActivityOptions,
    RunLimits {
  /** Checks the input; the function gets what the schema makes of it. Default: nothing is checked. */
  readonly input?: StandardSchema<Input, Parsed> | undefined;
  /** Checks the result; the workflow gets what the schema makes of it. Default: nothing is checked. */
  readonly output?: StandardSchema<Result, Output> | undefined;
}

/** A workflow in a call: its definition or its function. @public */
export type WorkflowLike<Input = never, Output = unknown, Status = unknown> =
  | WorkflowDefinition<Input, Output, Status>
  | WorkflowFunction<Input, Output, Status>;

/** An activity in a call: its definition or its function. @public */
export type ActivityLike<Input = never, Output = unknown> =
  | ActivityDefinition<Input, Output>
  | ActivityFunction<Input, Output>;

/**
 * Code that temporarily replaces other code. Ends with `close()` or, with `using`, at the end of the block. @public
 */
export interface Replacement extends Disposable {
  /** Ends the replacement: the original code runs again. */
  close(): void;
}

/**
 * Names a workflow.
 *
 * @example
 * ```ts
 * const charge = defineActivity('charge', async (order: { id: number }) => `receipt of ${order.id}`);
 * const checkout = defineWorkflow('checkout', async (ctx, order: { id: number }) => {
 *   const receipt = await ctx.callActivity(charge, order, { retry: { maxRetries: 2 } });
 *   await ctx.sleep('1h');
 *   return receipt;
 * });
 * ```
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for a name that is empty or longer than 256 characters, and for
 * code that is no function.
 * @public
 */
export function defineWorkflow<Input = undefined, Output = unknown, Status = unknown>(
  name: string,
  run: WorkflowFunction<Input, Output, Status>,
): WorkflowDefinition<JsonInput<Input>, Output, Status> {
  checkName('workflow', name);
  checkFunction(run, `the code of workflow ${JSON.stringify(name)}`, 'run');
  return { kind: 'workflow', name, run };
}

const ACTIVITY_OPTIONS: OptionFields<ActivityOptions> = {
  retry: ANYTHING,
  timeout: ANYTHING,
  input: ANYTHING,
  output: ANYTHING,
  ...RUN_LIMIT_FIELDS,
};

/**
 * Names an activity. Its options count for every call that does not say otherwise. An input or result that does not fit
 * its schema is a failure of type `InvalidDataError`, which is not retried.
 *
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for a name that is empty or longer than 256 characters, unknown or wrong
 * options, and code that is not a function.
 * @example
 * ```ts
 * const charge = defineActivity('charge', { timeout: '30s' }, async (id: number, { signal }) => {
 *   const reply = await fetch(`https://payments.example/${id}`, { method: 'POST', signal });
 *   return reply.status;
 * });
 * ```
 * @public
 */
export function defineActivity<Parsed = undefined, Result = unknown, Input = Parsed, Output = Result>(
  name: string,
  options: ActivityOptions<Input, Parsed, Result, Output>,
  run: ActivityFunction<Parsed, Result>,
): ActivityDefinition<Input, Output>;
/** Names an activity without options. @public */
export function defineActivity<Input = undefined, Output = unknown>(
  name: string,
  run: ActivityFunction<Input, Output>,
): ActivityDefinition<JsonInput<Input>, Output>;
export function defineActivity(
  name: string,
  ...given: readonly [ActivityFunction] | readonly [ActivityOptions, ActivityFunction]
): ActivityDefinition {
  checkName('activity', name);
  const [options, run] =
    given.length < 2 ? [{}, given[0] as ActivityFunction] : (given as [ActivityOptions, ActivityFunction]);
  const what = `options of activity ${JSON.stringify(name)}`;
  checkFunction(run, `the code of activity ${JSON.stringify(name)}`, 'run');
  checkOptions(what, options, ACTIVITY_OPTIONS, invalidArgument);
  const { input, output, globalConcurrency, rate, ...call } = options;
  slotLimitsOf(what, options, invalidArgument);
  checkSchema(input, 'input', what);
  checkSchema(output, 'output', what);
  checkRetry(call.retry);
  if (call.timeout !== undefined) parseDurationOption('timeout', call.timeout);
  const isChecked = input !== undefined || output !== undefined;
  return {
    kind: 'activity',
    name,
    options: call,
    ...(globalConcurrency === undefined && rate === undefined ? undefined : { limits: { globalConcurrency, rate } }),
    run: isChecked ? checkedActivity(name, { input, output }, run) : run,
  };
}

/**
 * The effect of a start on an existing instance of its ID.
 *
 * - `fail`: rejects the start with `ERR_START_WORKFLOW`, whether the existing one has finished or not.
 * - `keep`: leaves the existing one as it is, whatever its status, workflow and input, and answers its ID.
 * - `replace`: replaces it if it has finished, as a start over HTTP does; rejects the start if it has not.
 *
 * @public
 */
export type IfInstanceExists = 'fail' | 'keep' | 'replace';

const IF_EXISTS: readonly IfInstanceExists[] = ['fail', 'keep', 'replace'];

/** Options of starting an instance. @public */
export interface WorkflowStartOptions {
  /**
   * Its ID, of letters, digits, `_` and `-`, at most 64. Default: a UUID. Give an ID that follows from what the instance
   * is for, such as that of a message, so that it is started once however often that comes.
   */
  readonly instanceId?: string | undefined;
  /** The effect on an existing instance of this ID, in this process or any other. Default `fail`. */
  readonly ifExists?: IfInstanceExists | undefined;
  /** When the instance begins. Default: now. */
  readonly startAt?: Instant | undefined;
}

const START_FIELDS: OptionFields<WorkflowStartOptions> = {
  instanceId: ANYTHING,
  ifExists: field(isIfExists, '"fail", "keep" or "replace"'),
  startAt: INSTANT,
};

/** Rejects unknown options and wrong ones. The ID is checked where it is used. */
export function checkStartOptions(options: WorkflowStartOptions): void {
  checkOptions('options of start', options, START_FIELDS, invalidArgument);
}

export function isIfExists(value: unknown): value is IfInstanceExists {
  return IF_EXISTS.some((one) => one === value);
}

const MAX_NAME_LENGTH = 256;

/** Rejects what is no code and no definition: in JavaScript it is mostly `undefined`, of a misspelt import. */
export function checkCanHaveName(what: 'workflow' | 'activity', code: unknown): void {
  if (typeof code === 'function' || (typeof code === 'object' && code !== null)) return;
  throw invalidArgument(`the ${what} is ${shown(code)}: expected its name, its function or its definition`, what);
}

/** Rejects a name that is empty or too long. */
export function checkName(what: string, name: string): void {
  if (typeof name === 'string' && name.length > 0 && name.length <= MAX_NAME_LENGTH) return;
  if (typeof name !== 'string')
    throw invalidArgument(
      `the name of the ${what} is ${nameOfKind(name)}: expected a text of 1 to ${MAX_NAME_LENGTH} characters`,
      'name',
    );
  throw invalidArgument(
    `the ${what} name ${shown(name)} must have 1 to ${MAX_NAME_LENGTH} characters: name the function, or define the ${what} with a name`,
    'name',
  );
}
