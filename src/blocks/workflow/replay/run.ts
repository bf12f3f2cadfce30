import { SidecarError } from '../../../errors.ts';
import { nameOfKind } from '../../../util/known-fields.ts';
import type { Logger } from '../../../util/logger.ts';
import { outside } from '../../../util/outside.ts';
import type { ActionEvent, ReplayRules } from '../model/events.ts';
import {
  CANCELED,
  CANCELED_TASK,
  CanceledError,
  failureBecause,
  failureOf,
  NON_DETERMINISM,
  TIMED_OUT,
  type WorkflowFailure,
} from '../model/failure.ts';
import type { Payload } from '../model/payload.ts';
import type { RunOutcome } from '../model/run-outcome.ts';
import { ActionLog } from './action-log.ts';
import { branchFailures } from './branch-failures.ts';
import { EventBuffer } from './event-buffer.ts';
import type { ActivityCall, ChildCall, Execution, Program, Task } from './execution.ts';
import type { Mismatch } from './expected-actions.ts';
import type { Drain } from './microtask-drain.ts';
import { OpenActions } from './open-actions.ts';
import { type CodeProgress, OpenTask } from './open-task.ts';
import { branchFailure, hangFailure, strayFailure } from './run-failures.ts';
import { logOf } from './run-log.ts';
import { SeededRandom } from './seeded-random.ts';

/** The dependencies of a {@link Run}. */
export interface RunDeps {
  readonly instanceId: string;
  /** The ID of this run: its pseudo-random values derive from it. */
  readonly executionId: string;
  readonly workflowName: string;
  readonly program: Program;
  readonly logger: Logger;
  readonly drain: Drain;
  /** Whether a part of the history is that of another instance, whose children had other IDs. */
  readonly isRerun: boolean;
  /** Called when the code ends or calls the API outside a turn, which only foreign promises make possible. */
  readonly onStray: () => void;
}

/** One run of workflow code from the code's view: its calls become actions and open tasks. */
export class Run implements Execution {
  readonly instanceId: string;
  readonly workflowName: string;
  #log: Logger | undefined;
  readonly actions: ActionLog;
  readonly open: OpenActions = new OpenActions();
  readonly progress: CodeProgress = { awaited: 0, step: 0, activeIn: 0, hasFailures: false };
  /** The rules under which it began. */
  rules: ReplayRules | undefined;
  input: Payload;
  now: number = 0;
  isInTurn = false;
  isCanceled = false;
  customStatus: string | undefined;
  readonly #deps: RunDeps;
  #patches: Map<string, boolean> | undefined;
  #random: SeededRandom | undefined;
  #sequence = 0;
  #buffer: EventBuffer | undefined;
  #outcome: RunOutcome | undefined;
  #unknownPatch: string | undefined;

  constructor(deps: RunDeps) {
    this.#deps = deps;
    this.instanceId = deps.instanceId;
    this.workflowName = deps.workflowName;
    this.actions = new ActionLog(deps.isRerun);
  }

  get log(): Logger {
    this.#log ??= logOf(this.#deps, () => this.isReplaying);
    return this.#log;
  }

  get isReplaying(): boolean {
    return this.actions.isReplaying;
  }

  /** Created on first use: most code waits for no events. */
  get buffer(): EventBuffer {
    this.#buffer ??= new EventBuffer(this.progress);
    return this.#buffer;
  }

  /** The buffer; `undefined` if there were no events so far. */
  get usedBuffer(): EventBuffer | undefined {
    return this.#buffer;
  }

  get #seeded(): SeededRandom {
    this.#random ??= new SeededRandom(this.#deps.executionId);
    return this.#random;
  }

  get outcome(): RunOutcome | undefined {
    return this.#outcome;
  }

  /** Starts the code. */
  begin(): void {
    outside(() => this.#deps.program(this));
  }

  callActivity(call: ActivityCall): Task {
    const what = `activity ${JSON.stringify(call.name)}`;
    if (this.#isTooLate(what)) return this.#never(what);
    const sequence = ++this.#sequence;
    const task = new OpenTask(what, sequence, this.progress);
    this.#schedule({ call, task, firstAt: this.now }, sequence, 1);
    return task;
  }

  #schedule(first: First<ActivityCall>, sequence: number, attempt: number): void {
    const { call, task, firstAt } = first;
    const again = (): void => this.#schedule(first, ++this.#sequence, attempt + 1);
    this.open.add({ sequence, task, attempt, firstAt, retry: call.retry, again, call });
    const { name, input } = call;
    this.act({ type: 'activityScheduled', sequence, name, input, attempt, activityId: task.sequence });
  }

  callChild(call: ChildCall): Task {
    const what = `child workflow ${JSON.stringify(call.name)}`;
    if (this.#isTooLate(what)) return this.#never(what);
    const sequence = ++this.#sequence;
    const task = new OpenTask(what, sequence, this.progress);
    this.#startChild({ call, task, firstAt: this.now }, sequence, 1);
    return task;
  }

  #startChild(first: First<ChildCall>, sequence: number, attempt: number): void {
    const { call, task, firstAt } = first;
    const again = (): void => this.#startChild(first, ++this.#sequence, attempt + 1);
    const { name, input } = call;
    const instanceId = call.instanceId ?? `${this.instanceId}-${sequence.toString(16).padStart(4, '0')}`;
    this.open.add({ sequence, task, attempt, firstAt, retry: call.retry, again, childId: instanceId });
    this.act({ type: 'childStarted', sequence, name, instanceId, input });
  }

  createTimer(dueAt: number): Task {
    if (this.#isTooLate('a timer')) return this.#never('timer');
    const task = new OpenTask('timer', this.#sequence + 1, this.progress);
    this.open.addTimer({ ...this.startTimer(dueAt), task, fire: () => task.complete(undefined) });
    return task;
  }

  /** Assigns a number to a timer and records its action. */
  startTimer(at: number): { readonly sequence: number; readonly dueAt: number } {
    const timer = { sequence: ++this.#sequence, dueAt: Math.ceil(at) };
    this.act({ type: 'timerCreated', ...timer });
    return timer;
  }

  waitForEvent(name: string, timeoutMs?: number): Task {
    checkIsText('the name of an event', name);
    const what = `event ${JSON.stringify(name)}`;
    if (this.#isTooLate(`the wait for ${what}`)) return this.#never(what);
    const task = this.buffer.newTask(what);
    if (this.buffer.match(name, task, this.rules === undefined)) return task;
    const fire = (): void => task.fail({ errorType: TIMED_OUT, message: `did not come within ${timeoutMs} ms` });
    if (timeoutMs !== undefined && timeoutMs <= 0) fire();
    else {
      this.buffer.wait(name, task);
      if (timeoutMs !== undefined) this.open.addLimit({ ...this.startTimer(this.now + timeoutMs), task, fire });
    }
    return task;
  }

  isPatched(patch: string): boolean {
    // It could be stored, but not read again.
    checkIsText('the name of a patch', patch);
    this.#check(`isPatched(${JSON.stringify(patch)})`);
    this.#patches ??= new Map();
    let answer = this.#patches.get(patch);
    if (answer === undefined) {
      answer = this.actions.patch(patch);
      this.#patches.set(patch, answer);
    }
    return answer;
  }

  setCustomStatus(status: string): void {
    this.#check('setCustomStatus');
    this.customStatus = status;
  }

  continueAsNew(input: Payload, keepEvents: boolean): void {
    this.#check('continueAsNew');
    this.end({ kind: 'continued', input, keepEvents });
  }

  /** Fails what the code waits for, calls of children once these have ended. Answers the instance IDs of the children. */
  cancel(): readonly string[] {
    this.isCanceled = true;
    const children = this.open.fail(CANCELED_TASK, this.rules === 2);
    this.#buffer?.fail(CANCELED_TASK);
    return children;
  }

  /** Completes the next wait whose event was there before it, for another step; returns whether there is one. */
  completeNextWait(): boolean {
    this.#buffer?.rest(this.#outcome !== undefined);
    return this.#outcome === undefined && this.#buffer?.completeNext() === true;
  }

  newUuid(): string {
    this.#check('uuid');
    return this.#seeded.uuid();
  }

  random(): number {
    this.#check('random');
    return this.#seeded.number();
  }

  complete(output: Payload): void {
    this.#return({ kind: 'completed', output });
  }

  fail(failure: WorkflowFailure): void {
    // The code has not caught the error of the cancellation, or has thrown it again after its work.
    const isCanceled = this.isCanceled && failure.errorType === CANCELED;
    this.#return(isCanceled ? { kind: 'canceled' } : { kind: 'failed', failure });
  }

  #return(outcome: RunOutcome): void {
    if (this.#outcome !== undefined) return;
    if (this.isInTurn) this.end(outcome);
    else this.#stray('the workflow has ended');
  }

  noteThrown(error: Error): void {
    // Branches that no code waits for end with the wait that was given up: the code that is awaited decides.
    if (error instanceof CanceledError) return branchFailures.thrown(error, () => undefined);
    branchFailures.thrown(error, (reason) => this.#branchFailed(failureOf(reason)));
  }

  #branchFailed(failure: WorkflowFailure): void {
    // Runs of the first releases go on, as their histories may.
    if (this.rules !== undefined && this.#outcome === undefined)
      return this.end({ kind: 'failed', failure: branchFailure(failure) });
    const { message: reason, stackTrace } = failure;
    const details = { workflowName: this.workflowName, reason, stackTrace };
    this.log.warn(details, 'a branch of a workflow that no code waits for has failed');
  }

  /** The first outcome counts, unless the engine sets a final one. */
  end(outcome: RunOutcome, isFinal = false): void {
    if (this.#outcome === undefined || isFinal) this.#outcome = outcome;
  }

  /** The patch in the history that the code does not know, if that is why they do not match. */
  get unknownPatch(): string | undefined {
    return this.#unknownPatch;
  }

  /** Fails the run because the code no longer matches its history. `cause` says why, if the code has failed. */
  #mismatches({ history, code, patch }: Mismatch, cause?: WorkflowFailure): void {
    const failure = { errorType: NON_DETERMINISM, message: `${history}, and the code ${code}` };
    this.#unknownPatch = patch;
    this.end({ kind: 'failed', failure: failureBecause(failure, cause) }, true);
  }

  /** The code does not do what the history has: `code` says what it does instead, unless it has failed. */
  endsTooEarly(mismatch: Mismatch): void {
    const cause = this.#outcome?.kind === 'failed' ? this.#outcome.failure : undefined;
    if (cause === undefined) return this.#mismatches(mismatch);
    this.#mismatches({ ...mismatch, code: `fails before that with ${cause.errorType}: ${cause.message}` }, cause);
  }

  act(action: Exclude<ActionEvent, { type: 'patched' }>): void {
    if (this.#outcome !== undefined) return;
    const mismatch = this.actions.add(action);
    if (mismatch !== undefined) this.#mismatches(mismatch);
  }

  /** Throws if the run has ended: a synchronous call cannot wait forever. */
  #check(what: string): void {
    if (this.#isTooLate(what))
      throw new Error(`this run of workflow ${JSON.stringify(this.workflowName)} has ended: ${what} comes too late`);
  }

  #isTooLate(what: string): boolean {
    this.progress.activeIn = this.progress.step;
    if (this.#outcome === undefined && !this.isInTurn) this.#stray(`the workflow has called ${what}`);
    return this.#outcome !== undefined;
  }

  /** A task that never settles, for code that continues after its end. An error could become an unhandled rejection. */
  #never(what: string): Task {
    return new OpenTask(what, 0, this.progress);
  }

  /** Fails the run because a foreign promise woke the code. */
  #stray(what: string): void {
    this.end({ kind: 'failed', failure: strayFailure(what) });
    this.#deps.onStray();
  }

  /** Fails the run because none of its tasks can wake the waiting code. */
  hangs(): void {
    this.end({ kind: 'failed', failure: hangFailure() });
  }
}

/** The properties shared by all attempts. */
interface First<Call> {
  readonly call: Call;
  readonly task: OpenTask;
  readonly firstAt: number;
}

/** In JavaScript anything may come. */
function checkIsText(what: string, name: unknown): void {
  if (typeof name !== 'string')
    throw new SidecarError('ERR_INVALID_ARGUMENT', `${what} is ${nameOfKind(name)}: expected a string`);
}
