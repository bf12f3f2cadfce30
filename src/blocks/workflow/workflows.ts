import type { Shards } from '../../cluster/shards.ts';
import { type ErrorCode, isSidecarError, messageOf, SidecarError } from '../../errors.ts';
import type { StateStore } from '../../state/store.ts';
import { Registry } from './authoring/registry.ts';
import { Engine, type EngineParts } from './engine/engine.ts';
import type {
  ActivityDefinition,
  ActivityFunction,
  ActivityLike,
  InputAndStart,
  Replacement,
  StartOptions,
  WorkflowDefinition,
  WorkflowFunction,
  WorkflowLike,
} from './model/definition.ts';
import type { IncomingEvent } from './model/events.ts';
import {
  type InstanceView,
  isFinished,
  type WorkflowHistoryEvent,
  type WorkflowState,
  type WorkflowStatus,
} from './model/instance.ts';
import { canBeInstanceId, newInstanceId } from './model/instance-id.ts';
import { type Payload, textOfValue } from './model/payload.ts';
import type { WorkflowsHost } from './model/workflows-host.ts';
import { Completions, type WaitOptions } from './operations/completions.ts';
import { type InstancePage, type ListOptions, listInstances } from './operations/list.ts';
import { notFound, sendEvent, startInstance } from './operations/operations.ts';
import { checkEventName, checkInput, parseStart } from './operations/parse-call.ts';
import type { Program } from './replay/execution.ts';
import { WorkflowLayout } from './storage/layout.ts';
import { purge } from './storage/purge.ts';
import { historyOf } from './storage/render-history.ts';
import { stateOf, viewOf } from './storage/render-instance.ts';

/** What the block is made of. */
export interface WorkflowsParts {
  readonly appId: string;
  readonly host: WorkflowsHost;
  /** Throws when no calls are taken. */
  readonly admit: () => void;
  /** The first workflow was registered: this host has them. */
  readonly onFirst: () => void;
}

/** What an operation fails with when the store does. */
type Operation = Extract<ErrorCode, `ERR_${string}_WORKFLOW`>;

/**
 * Workflows: code whose progress is kept in the state store. With a durable one it survives the process, and goes on
 * where it was.
 *
 * @example
 * ```ts
 * sidecar.workflows.register(checkout);
 * const id = await sidecar.workflows.start(checkout, { orderId: 1 });
 * const { output } = await sidecar.workflows.waitForCompletion(id);
 * ```
 * @public
 */
export class Workflows {
  readonly #parts: WorkflowsParts;
  readonly #registry: Registry;
  readonly #completions: Completions;
  #engine: Engine | undefined;
  #shards: Shards | undefined;
  #watch: Disposable | undefined;

  /** @internal */
  constructor(parts: WorkflowsParts) {
    this.#parts = parts;
    this.#completions = new Completions(parts.host.clock);
    this.#registry = new Registry(() => this.#engine?.codeChanged(), parts.onFirst);
  }

  /**
   * Registers workflows and activities. What is registered under a name is what every call of that name runs, by name,
   * definition or function. Register before the start: instances of the life before wait for their code.
   *
   * @throws SidecarError `ERR_CONFIGURATION` when a name is taken by other code; see `replaceActivity` and
   * `replaceWorkflow`.
   */
  register(...definitions: readonly (WorkflowDefinition<never> | ActivityDefinition<never>)[]): void;
  /** Registers a workflow under a name. */
  register<Input, Output>(name: string, run: WorkflowFunction<Input, Output>): void;
  register(...given: readonly unknown[]): void {
    const [first, second] = given;
    if (typeof first === 'string') return this.#registry.addWorkflow(first, second as WorkflowFunction);
    for (const one of given) this.#registry.add(one as WorkflowDefinition | ActivityDefinition);
  }

  /** Registers an activity under a name: needed for those that workflows call by name. */
  registerActivity<Input, Output>(name: string, run: ActivityFunction<Input, Output>): void {
    this.#registry.addActivity(name, run as ActivityFunction);
  }

  /**
   * Has an activity run other code, until the answer is restored: whatever is registered under its name, now or later,
   * and however workflows call it. For tests.
   *
   * @example
   * ```ts
   * using _ = sidecar.workflows.replaceActivity(charge, (_ctx, order) => `receipt of ${order.id}`);
   * ```
   */
  replaceActivity<Input, Output>(
    activity: ActivityLike<Input, Output>,
    run: ActivityFunction<Input, NoInfer<Output>>,
  ): Replacement;
  /** Has the activity of a name run other code. */
  replaceActivity(name: string, run: ActivityFunction): Replacement;
  replaceActivity(activity: ActivityLike | string, run: ActivityFunction): Replacement {
    const name = typeof activity === 'string' ? activity : this.#registry.nameOfActivity(activity);
    return this.#registry.replace({ kind: 'activity', name, run });
  }

  /**
   * Has a workflow run other code, as a child or when it is started, until the answer is restored. Instances that have
   * begun keep the code that they have. For tests.
   */
  replaceWorkflow<Input, Output>(
    workflow: WorkflowLike<Input, Output>,
    run: WorkflowFunction<Input, NoInfer<Output>>,
  ): Replacement;
  /** Has the workflow of a name run other code. */
  replaceWorkflow(name: string, run: WorkflowFunction): Replacement;
  replaceWorkflow(workflow: WorkflowLike | string, run: WorkflowFunction): Replacement {
    const name = typeof workflow === 'string' ? workflow : this.#registry.nameOfWorkflow(workflow);
    return this.#registry.replace({ kind: 'workflow', name, run });
  }

  /** Registers workflow code of another way of writing. @internal */
  registerProgram(name: string, program: Program): void {
    this.#registry.addProgram(name, program);
  }

  /**
   * Starts an instance and answers its ID. When this resolves the start is kept, on disk if the state store is durable.
   *
   * @throws SidecarError `ERR_INSTANCE_ID_INVALID` for an ID that cannot be used, `ERR_START_WORKFLOW` when it is that
   * of an instance which is not over, or the store fails. An instance that is over is replaced.
   */
  async start<Input, Output>(workflow: WorkflowLike<Input, Output>, ...rest: InputAndStart<Input>): Promise<string>;
  /** Starts an instance of the workflow that is registered under a name. */
  async start(name: string, input?: unknown, options?: StartOptions): Promise<string>;
  async start(workflow: WorkflowLike | string, input?: unknown, options?: StartOptions): Promise<string> {
    const name = typeof workflow === 'string' ? workflow : this.#registry.workflow(workflow);
    return this.startText(name, textOfValue(input, 'the input of the workflow'), options);
  }

  /** The instance of an ID; `undefined` when there is none. */
  async get<Output = unknown, Input = unknown>(instanceId: string): Promise<WorkflowState<Output, Input> | undefined> {
    const view = await this.find(instanceId);
    return view && stateOf(view);
  }

  /**
   * Waits until an instance is over: completed, failed or terminated.
   *
   * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND`; `ERR_WORKFLOW_TIMEOUT` when it took longer; the signal's reason.
   */
  async waitForCompletion<Output = unknown>(instanceId: string, options?: WaitOptions): Promise<WorkflowState<Output>> {
    return stateOf(await this.waitForCompletionText(instanceId, options));
  }

  /**
   * Gives an event to an instance. Events wait for the workflow as the workflow waits for them, in order.
   *
   * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND`. For an instance that is over nothing happens.
   */
  async raiseEvent(instanceId: string, name: string, data?: unknown): Promise<void> {
    return this.raiseEventText(instanceId, name, textOfValue(data, 'the event'));
  }

  /** Ends an instance and its children, wherever they are. Activities under way are told by their signal. */
  async terminate(instanceId: string, output?: unknown): Promise<void> {
    return this.terminateText(instanceId, textOfValue(output, 'the output'));
  }

  /** Suspends an instance: what comes for it waits until it is resumed. */
  async pause(instanceId: string): Promise<void> {
    return this.#send('ERR_PAUSE_WORKFLOW', instanceId, { type: 'suspended' });
  }

  /** Resumes an instance. */
  async resume(instanceId: string): Promise<void> {
    return this.#send('ERR_RESUME_WORKFLOW', instanceId, { type: 'resumed' });
  }

  /**
   * Removes an instance that is over, and its children.
   *
   * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND`; `ERR_PURGE_WORKFLOW` when it or a child is not over.
   */
  async purge(instanceId: string): Promise<void> {
    const isThere = await this.#call('ERR_PURGE_WORKFLOW', async (engine) =>
      canBeInstanceId(instanceId) ? purge(engine, instanceId) : false,
    );
    if (!isThere) throw notFound(instanceId);
  }

  /** Instances in the order of their IDs, page by page; without their inputs. */
  async list(options: ListOptions = {}): Promise<InstancePage> {
    return this.#call('ERR_GET_WORKFLOW', (engine) => listInstances(engine, options));
  }

  /** What has happened to an instance, since it last continued as new. */
  async history(instanceId: string): Promise<readonly WorkflowHistoryEvent[]> {
    return this.#call('ERR_GET_WORKFLOW', ({ store }) => historyOf(store, instanceId));
  }

  /** Starts an instance whose input is text. @internal */
  async startText(name: string, input: Payload, options: StartOptions = {}): Promise<string> {
    const { clock, newId } = this.#parts.host;
    this.#parts.admit();
    const start = parseStart({ name, input }, options, () => newInstanceId(clock.now(), newId()));
    await this.#call('ERR_START_WORKFLOW', (engine) => startInstance(engine, start));
    return start.instanceId;
  }

  /** Gives an event that is text. @internal */
  async raiseEventText(instanceId: string, name: string, data: Payload): Promise<void> {
    checkEventName(name);
    const event = { type: 'eventRaised', name, data: checkInput(data, 'the event') } as const;
    return this.#send('ERR_RAISE_EVENT_WORKFLOW', instanceId, event);
  }

  /** Ends an instance with an output that is text. @internal */
  async terminateText(instanceId: string, output: Payload): Promise<void> {
    const event = { type: 'terminated', output: checkInput(output, 'the output') } as const;
    return this.#send('ERR_TERMINATE_WORKFLOW', instanceId, event);
  }

  /** The instance with its payloads as text. @internal */
  async view(instanceId: string): Promise<InstanceView> {
    const view = await this.find(instanceId);
    if (view === undefined) throw notFound(instanceId);
    return view;
  }

  /** The same; `undefined` when there is none. @internal */
  async find(instanceId: string): Promise<InstanceView | undefined> {
    return this.#call('ERR_GET_WORKFLOW', async ({ store, pool }) => {
      const stored = canBeInstanceId(instanceId) ? await store.read(instanceId) : undefined;
      return stored && viewOf(stored.record, await store.inputOf(instanceId), pool.missingCodeOf(stored.record));
    });
  }

  /** Waits until an instance is over. @internal */
  waitForCompletionText(instanceId: string, options: WaitOptions = {}): Promise<InstanceView> {
    return this.#waitUntil(instanceId, isFinished, options);
  }

  /** Waits until an instance has begun. @internal */
  async waitForStartText(instanceId: string, options: WaitOptions = {}): Promise<InstanceView> {
    return this.#waitUntil(instanceId, (status) => status !== 'PENDING', options);
  }

  async #waitUntil(id: string, isSo: (status: WorkflowStatus) => boolean, options: WaitOptions): Promise<InstanceView> {
    let watch: Disposable | undefined;
    const ask = async (told?: InstanceView): Promise<InstanceView | undefined> => {
      if (told !== undefined && isSo(told.status)) return told;
      watch ??= this.#watchElsewhere(id);
      // What is in memory tells when that changes, as long as this host has it.
      const live = this.#engine?.owns(id) === true ? this.#engine.pool.get(id) : undefined;
      if (live !== undefined && !isSo(live.record.status)) return undefined;
      const view = await this.view(id);
      return isSo(view.status) ? view : undefined;
    };
    try {
      return await this.#completions.wait(id, ask, options);
    } finally {
      watch?.[Symbol.dispose]();
    }
  }

  /** Of an instance of another host, the store has to tell. */
  #watchElsewhere(instanceId: string): Disposable | undefined {
    if (this.#engine?.owns(instanceId) !== false) return undefined;
    const key = new WorkflowLayout(this.#parts.appId).instance(instanceId);
    return this.#shards?.watch(key, () => this.#completions.tell(instanceId));
  }

  /** Warns when it has not begun to run workflows. @internal */
  warnUnlessRunning(problem: string): void {
    if (this.#engine === undefined) this.#parts.host.logger.warn({}, problem);
  }

  /** How many workers there are, for metadata: this process, when it has workflows. @internal */
  get connectedWorkers(): number {
    return this.#engine === undefined || !this.#registry.hasWorkflows ? 0 : 1;
  }

  /** How many instances are in memory, for placement. @internal */
  get liveCount(): number {
    return this.#engine?.pool.size ?? 0;
  }

  /** How many activities run or wait to be run, for placement. @internal */
  get activityCount(): number {
    return this.#engine?.activities.count ?? 0;
  }

  /** Begins to run workflows. @internal */
  begin({ store, shards }: { readonly store: StateStore; readonly shards: Shards }): void {
    const { host, appId } = this.#parts;
    this.#shards = shards;
    const layout = new WorkflowLayout(appId);
    const onStatus: EngineParts['onStatus'] = (id, view) => this.#completions.tell(id, view);
    this.#engine = new Engine({ state: store, shards, layout, registry: this.#registry, host, onStatus });
    this.#engine.start();
    // Who waits for an instance has to look elsewhere when its host changes.
    this.#watch = shards.onChange(() => this.#completions.tellAll());
  }

  /** Begins nothing any more and waits for what is under way. @internal */
  async stop(): Promise<void> {
    this.#watch?.[Symbol.dispose]();
    await this.#engine?.stop();
    this.#completions.tellAll();
  }

  async #send(code: Operation, instanceId: string, event: IncomingEvent): Promise<void> {
    await this.#call(code, async (engine) => {
      if (!canBeInstanceId(instanceId)) throw notFound(instanceId);
      await sendEvent(engine, instanceId, event);
    });
  }

  async #call<T>(code: Operation, work: (engine: Engine) => Promise<T>): Promise<T> {
    this.#parts.admit();
    try {
      if (this.#engine === undefined) throw new Error('workflows are not started');
      return await work(this.#engine);
    } catch (error) {
      if (isSidecarError(error)) throw error;
      throw new SidecarError(code, `the workflow operation failed: ${messageOf(error)}`, { cause: error });
    }
  }
}
