import { SidecarError } from '../../../errors.ts';
import { LAST_INSTANT } from '../../../util/clock.ts';
import { DURATION_FORMS, type Duration, readDuration, readInstant } from '../../../util/duration.ts';
import { parseDurationOption } from '../../../util/duration-option.ts';
import { checkFields, fieldNames } from '../../../util/known-fields.ts';
import type { Logger } from '../../../util/logger.ts';
import { shown } from '../../../util/shown.ts';
import type {
  CallActivityOptions,
  CallChildOptions,
  ContinueAsNewOptions,
  MapOptions,
  WaitForEventOptions,
  WorkflowContext,
} from '../model/context.ts';
import { dataOfEvent, type EventOrName, nameOfEvent } from '../model/define-event.ts';
import type {
  ActivityDefinition,
  ActivityFunction,
  WorkflowDefinition,
  WorkflowFunction,
} from '../model/definition.ts';
import { failureOf } from '../model/failure.ts';
import { checkInstanceId } from '../model/instance-id.ts';
import { type Payload, textOfStatus, textOfValue, valueOfText } from '../model/payload.ts';
import { taskRetryOf } from '../model/retry.ts';
import type { Execution, Program, Task } from '../replay/execution.ts';
import { DurablePromise } from './durable-promise.ts';
import { concurrencyOf, mapItems } from './map-items.ts';
import { Race } from './race.ts';

/** An activity as a call means it. */
export interface NamedActivity {
  readonly name: string;
  /** `undefined` for one that is called by its name. */
  readonly run?: ActivityFunction;
  /** How it is called, unless the call says otherwise. */
  readonly options?: CallActivityOptions;
}

/** Resolves code in calls to its name and, for activities, its function. */
export interface CodeNames {
  activity(code: ActivityDefinition | ActivityFunction): NamedActivity;
  workflow(code: WorkflowDefinition | WorkflowFunction): string;
}

/** Makes a program of an async function. */
export function asyncProgram(run: WorkflowFunction<unknown>, names: CodeNames): Program {
  return (execution) => {
    const result = begin(run, new AsyncContext(execution, names), execution);
    result.then(
      (output) => end(execution, output),
      (error: unknown) => execution.fail(failureOf(error)),
    );
  };
}

/** Turns an exception of the function into a rejection. */
async function begin(run: WorkflowFunction<unknown>, context: WorkflowContext, { input }: Execution): Promise<unknown> {
  return run(context, valueOfText(input));
}

function end(execution: Execution, output: unknown): void {
  try {
    execution.complete(textOfValue(output, 'the output of the workflow'));
  } catch (error) {
    execution.fail(failureOf(error));
  }
}

/** Thrown to end code that continues as new; catching it has no effect. */
class Continued extends Error {
  override readonly name = 'Continued';
}

const NO_OPTIONS = Object.freeze({});
const ACTIVITY_FIELDS = fieldNames<CallActivityOptions>({ retry: true, timeout: true });
const CHILD_FIELDS = fieldNames<CallChildOptions>({ instanceId: true, retry: true });
const EVENT_FIELDS = fieldNames<WaitForEventOptions>({ timeout: true });
const CONTINUE_FIELDS = fieldNames<ContinueAsNewOptions>({ keepEvents: true });

class AsyncContext implements WorkflowContext {
  readonly #execution: Execution;
  readonly #names: CodeNames;

  constructor(execution: Execution, names: CodeNames) {
    this.#execution = execution;
    this.#names = names;
  }

  get instanceId(): string {
    return this.#execution.instanceId;
  }

  get workflowName(): string {
    return this.#execution.workflowName;
  }

  get isReplaying(): boolean {
    return this.#execution.isReplaying;
  }

  get log(): Logger {
    return this.#execution.log;
  }

  #promise<T>(task: Task, decode?: (text: Payload) => unknown): Promise<T> {
    return new DurablePromise(task, this.#execution, decode);
  }

  callActivity<Output>(
    activity: ActivityDefinition | ActivityFunction | string,
    input?: unknown,
    options: CallActivityOptions = NO_OPTIONS,
  ): Promise<Output> {
    if (options !== NO_OPTIONS) checkFields(options, ACTIVITY_FIELDS, 'options of callActivity');
    const called: NamedActivity = typeof activity === 'string' ? { name: activity } : this.#names.activity(activity);
    const { name, run } = called;
    const text = textOfValue(input, 'the input of activity', name);
    const { retry = called.options?.retry, timeout = called.options?.timeout } = options;
    const timeoutMs = timeout === undefined ? undefined : Math.ceil(parseDurationOption('timeout', timeout));
    return this.#promise(
      this.#execution.callActivity({ name, run, input: text, retry: taskRetryOf(retry), timeoutMs }),
    );
  }

  callChild<Output>(
    workflow: WorkflowDefinition | WorkflowFunction | string,
    input?: unknown,
    options: CallChildOptions = {},
  ): Promise<Output> {
    checkFields(options, CHILD_FIELDS, 'options of callChild');
    const { instanceId, retry } = options;
    const name = typeof workflow === 'string' ? workflow : this.#names.workflow(workflow);
    if (instanceId !== undefined) checkInstanceId(instanceId);
    const text = textOfValue(input, 'the input of child workflow', name);
    return this.#promise(this.#execution.callChild({ name, input: text, instanceId, retry: taskRetryOf(retry) }));
  }

  sleep(until: Duration | Date | string): Promise<void> {
    return this.#promise(this.#execution.createTimer(this.#instantOf(until)));
  }

  #instantOf(until: Duration | Date | string): number {
    const delayMs = readDuration(until);
    return checkInstant(delayMs === undefined ? readInstant(until) : this.#execution.now + delayMs, until);
  }

  waitForEvent<Event>(event: EventOrName, options: WaitForEventOptions = {}): Promise<Event> {
    checkFields(options, EVENT_FIELDS, 'options of waitForEvent');
    const { timeout } = options;
    const timeoutMs = timeout === undefined ? undefined : Math.ceil(parseDurationOption('timeout', timeout));
    if (timeoutMs !== undefined) checkInstant(this.#execution.now + timeoutMs, timeout);
    const task = this.#execution.waitForEvent(nameOfEvent(event), timeoutMs);
    return this.#promise(task, typeof event === 'string' ? undefined : (text) => dataOfEvent(event, text));
  }

  all<const T extends readonly unknown[]>(values: T): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
    return watched(Promise.all(values));
  }

  any<const T extends readonly unknown[]>(values: T): Promise<Awaited<T[number]>> {
    return Race.any(values);
  }

  race<const T extends readonly unknown[]>(values: T): Promise<Awaited<T[number]>> {
    return Race.race(values);
  }

  map<Item, Result>(
    items: readonly Item[],
    fn: (item: Item, index: number) => Result,
    options: MapOptions = NO_OPTIONS,
  ): Promise<Awaited<Result>[]> {
    return watched(mapItems(items, fn, concurrencyOf(items, fn, options)));
  }

  now(): number {
    return this.#execution.now;
  }

  uuid(): string {
    return this.#execution.newUuid();
  }

  random(): number {
    return this.#execution.random();
  }

  setCustomStatus(status: unknown): void {
    this.#execution.setCustomStatus(textOfStatus(status));
  }

  continueAsNew(input?: unknown, options: ContinueAsNewOptions = {}): never {
    checkFields(options, CONTINUE_FIELDS, 'options of continueAsNew');
    const { keepEvents = true } = options;
    this.#execution.continueAsNew(textOfValue(input, 'the input of continueAsNew'), keepEvents);
    throw new Continued('the workflow continues as new: return the result of continueAsNew, and do not catch it');
  }

  isPatched(patch: string): boolean {
    return this.#execution.isPatched(patch);
  }
}

/** Prevents an unhandled rejection while no code waits for the promise: it would end the process. */
function watched<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function checkInstant(at: number | undefined, given: unknown): number {
  if (at !== undefined && Math.abs(at) <= LAST_INSTANT) return Math.ceil(at);
  throw new SidecarError(
    'ERR_INVALID_ARGUMENT',
    `${shown(given)} is not a time to wait: expected ${DURATION_FORMS}; or a Date, or a text such as 2026-05-01T12:00:00Z`,
  );
}
