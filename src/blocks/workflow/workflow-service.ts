import type { Membership } from '../../cluster/membership.ts';
import { type ErrorCode, isApiError, messageOf, SidecarError } from '../../errors.ts';
import { observe } from '../../probe.ts';
import type { BlockService } from '../block-service.ts';
import type { HostIdentity } from '../host-identity.ts';
import { Registry } from './authoring/registry.ts';
import { Engine, type EngineDeps } from './engine/engine.ts';
import { Surplus } from './engine/surplus.ts';
import type { WorkflowsDeps } from './engine/workflows-deps.ts';
import type { HostPeer } from './forwarding/call.ts';
import { Forwarding, type ThroughStore } from './forwarding/forwarding.ts';
import type { InboundCallsDeps } from './forwarding/inbound-calls.ts';
import type { WorkflowStartOptions } from './model/definition.ts';
import { type HistoryEventText, type InstanceView, isFinished, type WorkflowHistoryEvent } from './model/instance.ts';
import { canBeInstanceId, newInstanceId } from './model/instance-id.ts';
import { notFound } from './model/not-found.ts';
import { type Payload, textOfValue } from './model/payload.ts';
import { Completions, type WorkflowWaitOptions } from './operations/completions.ts';
import { listInstances, type WorkflowListOptions, type WorkflowPage } from './operations/list.ts';
import { type Start, startInstance } from './operations/operations.ts';
import { checkEventName, checkInput, parseStart } from './operations/parse-call.ts';
import { purge } from './operations/purge.ts';
import { parseRerun, rerunInstance, type WorkflowRerunOptions } from './operations/rerun.ts';
import { sendEvent } from './operations/send.ts';
import { Waits } from './operations/waits.ts';
import type { InstanceWork, OutsideEvent } from './operations/work.ts';
import { WorkflowLayout } from './storage/layout.ts';
import { historyOf, historyTextOf } from './storage/render-history.ts';
import { viewOf } from './storage/render-instance.ts';

/** The dependencies of a {@link WorkflowService}. */
export interface WorkflowServiceDeps extends WorkflowsDeps {
  /** The first workflow was registered: this host has workflows from now on. */
  readonly onFirst: (service: WorkflowService) => void;
  readonly hostIdentity: HostIdentity;
}

/** The error codes of operations whose store has failed. */
type OperationCode = Extract<ErrorCode, `ERR_${string}_WORKFLOW`>;

/** One of many hosts has few of the IDs; one that joins or leaves has none. */
const MAX_ID_TRIES = 64;

/** Stores workflow instances and runs them. Its payloads are text. */
export class WorkflowService implements BlockService {
  /** The code of workflows and activities. */
  readonly registry: Registry;
  readonly #deps: WorkflowServiceDeps;
  readonly #completions: Completions;
  readonly #waits: Waits;
  #membership: Membership | undefined;
  #engine: Engine | undefined;
  #forwarding: Forwarding | undefined;
  #watch: Disposable | undefined;
  #surplus: Surplus | undefined;

  constructor(deps: WorkflowServiceDeps) {
    this.#deps = deps;
    this.#completions = new Completions(deps.clock);
    this.#waits = new Waits({
      completions: this.#completions,
      call: (work) => this.#call('ERR_GET_WORKFLOW', work),
    });
    this.registry = new Registry(
      () => this.#engine?.codeChanged(),
      () => deps.onFirst(this),
    );
  }

  /** Starts an instance and answers its ID. */
  async startInstance(name: string, input: Payload, options: WorkflowStartOptions = {}): Promise<string> {
    this.#deps.admit();
    const start = parseStart({ name, input }, options, () => this.#newInstanceId(name));
    const { probe } = this.#deps;
    const { instanceId } = start;
    if (probe === undefined) await this.#start(start);
    else
      await observe(
        probe,
        { type: 'start', workflowName: name, instanceId, by: 'caller', trace: undefined },
        ({ trace }) => this.#start({ ...start, trace }),
      );
    return instanceId;
  }

  /** An instance of this host, so that no work is sent to another one: starts come to all hosts. */
  #newInstanceId(name: string): string {
    const { clock, newId } = this.#deps;
    const engine = this.#engine?.pool.hasCode(name) ? this.#engine : undefined;
    for (let tries = 1; ; tries++) {
      const id = newInstanceId(clock.now(), newId());
      if (engine === undefined || engine.owns(id) || tries === MAX_ID_TRIES) return id;
    }
  }

  #start(start: Start): Promise<unknown> {
    const { instanceId, ...what } = start;
    const work: InstanceWork = { type: 'start', ...what };
    return this.#call('ERR_START_WORKFLOW', (engine) =>
      this.#do(instanceId, work, (receipt) => startInstance(engine, start, receipt)),
    );
  }

  /** Runs an instance that is over again, as a new one; answers its ID. `text` is the input, if it is text already. */
  async rerun(of: string, options: WorkflowRerunOptions, text?: string): Promise<string> {
    const { clock, newId } = this.#deps;
    const rerun = parseRerun(of, options, () => newInstanceId(clock.now(), newId()));
    const what = 'the input of the workflow';
    const input = checkInput(text ?? textOfValue(options.input, what), what);
    await this.#call('ERR_START_WORKFLOW', (engine) => rerunInstance(engine, { ...rerun, input }));
    return rerun.instanceId;
  }

  /** Gives an event to an instance. */
  async raiseEvent(instanceId: string, name: string, data: Payload): Promise<void> {
    checkEventName(name);
    const event = { type: 'eventRaised', name, data: checkInput(data, 'the event') } as const;
    return this.#send('ERR_RAISE_EVENT_WORKFLOW', instanceId, event);
  }

  /** Asks an instance and its children to clean up and end. */
  cancel(instanceId: string): Promise<void> {
    return this.#send('ERR_CANCEL_WORKFLOW', instanceId, { type: 'cancelRequested' });
  }

  /** Ends an instance and its children. */
  async terminate(instanceId: string, output?: Payload): Promise<void> {
    const event = { type: 'terminated', output: checkInput(output, 'the output') } as const;
    return this.#send('ERR_TERMINATE_WORKFLOW', instanceId, event);
  }

  /** Suspends an instance. */
  pause(instanceId: string): Promise<void> {
    return this.#send('ERR_PAUSE_WORKFLOW', instanceId, { type: 'suspended' });
  }

  /** Resumes an instance. */
  resume(instanceId: string): Promise<void> {
    return this.#send('ERR_RESUME_WORKFLOW', instanceId, { type: 'resumed' });
  }

  /** Removes an instance that is over, and its children. */
  async purge(instanceId: string): Promise<void> {
    if (!(await this.purgeIfThere(instanceId))) throw notFound(instanceId);
  }

  /** Like `purge`, and answers whether the instance existed. */
  purgeIfThere(instanceId: string): Promise<boolean> {
    return this.#call('ERR_PURGE_WORKFLOW', async (engine) =>
      canBeInstanceId(instanceId) ? purge(engine, instanceId) : false,
    );
  }

  /** A page of instances, without their inputs. */
  list(options: WorkflowListOptions): Promise<WorkflowPage> {
    return this.#call('ERR_GET_WORKFLOW', (engine) => listInstances(engine, options));
  }

  /** The history of an instance, since it last continued as new. */
  history(instanceId: string): Promise<readonly WorkflowHistoryEvent[]> {
    return this.#call('ERR_GET_WORKFLOW', ({ store }) => historyOf(store, instanceId));
  }

  /** Like `history`: at most `limit` events, with the data as text. */
  historyAsText(instanceId: string, limit: number): Promise<readonly HistoryEventText[]> {
    return this.#call('ERR_GET_WORKFLOW', ({ store }) => historyTextOf(store, instanceId, limit));
  }

  /** An instance. */
  async view(instanceId: string): Promise<InstanceView> {
    const view = await this.find(instanceId);
    if (view === undefined) throw notFound(instanceId);
    return view;
  }

  /** Like `view`; `undefined` if the instance does not exist. */
  find(instanceId: string): Promise<InstanceView | undefined> {
    return this.#call('ERR_GET_WORKFLOW', async ({ store, pool }) => {
      const stored = canBeInstanceId(instanceId) ? await store.read(instanceId) : undefined;
      return stored && viewOf(stored.record, await store.inputOf(instanceId), pool.waitsOf(stored.record));
    });
  }

  /** Waits until an instance is over. */
  waitForCompletion(instanceId: string, options: WorkflowWaitOptions = {}): Promise<InstanceView> {
    return this.#waits.until(instanceId, { until: 'over' }, options);
  }

  /** Waits until an instance has begun. */
  waitForStart(instanceId: string, options: WorkflowWaitOptions = {}): Promise<InstanceView> {
    return this.#waits.until(instanceId, { until: 'begun' }, options);
  }

  /** Warns if workflows do not run yet. */
  warnUnlessRunning(problem: string): void {
    if (this.#engine === undefined) this.#deps.logger.warn({}, problem);
  }

  /** How many workers there are, for metadata: this process, when it has workflows. */
  get connectedWorkers(): number {
    return this.#engine === undefined || !this.registry.hasWorkflows ? 0 : 1;
  }

  /** How many instances are in memory, for placement. */
  get liveCount(): number {
    return this.#engine?.pool.size ?? 0;
  }

  /** How many activities run or wait to be run, for placement. */
  get activityCount(): number {
    return this.#engine?.activities.count ?? 0;
  }

  /** Notes where the instances are kept. */
  async open(membership: Membership): Promise<void> {
    this.#membership = membership;
  }

  /** Begins to run workflows. At rest, none goes on; what comes for them is stored. */
  start(isAtRest: boolean): void {
    if (this.#membership === undefined) return;
    const { store, shards } = this.#membership;
    const layout = new WorkflowLayout(this.#deps.appId);
    const onStatus: EngineDeps['onStatus'] = (id, view, status) => {
      this.#completions.tell(id, view);
      if (status !== undefined && isFinished(status)) this.#surplus?.ended();
    };
    this.#engine = new Engine({ state: store, shards, layout, registry: this.registry, deps: this.#deps, onStatus });
    this.#engine.start(isAtRest);
    if (!isAtRest) this.#forwarding = this.#forward(this.#engine, this.#membership);
    this.#waits.start(this.#engine, this.#forwarding);
    if (isAtRest) return;
    this.#surplus = Surplus.of({ ...this.#engine.deps, store: this.#engine.store });
    // Pending waits must follow an instance to its new host.
    this.#watch = shards.onChange(() => this.#completions.tellAll());
  }

  #forward(engine: Engine, membership: Membership): Forwarding {
    const { admit, hostIdentity } = this.#deps;
    const waitHere: InboundCallsDeps['waitHere'] = (id, until, options) =>
      this.#waits.until(id, { until, isForOther: true }, options);
    return new Forwarding({ engine, membership, admit, waitHere, ...hostIdentity });
  }

  /** Does the calls of other hosts of the application, while workflows run. */
  get inbound(): HostPeer | undefined {
    return this.#forwarding?.inbound;
  }

  /** Begins nothing new, and waits for work in progress. */
  async stop(): Promise<void> {
    this.#watch?.[Symbol.dispose]();
    this.#forwarding?.beginStop();
    this.#surplus?.stop();
    await this.#engine?.stop();
    this.#completions.tellAll();
    await this.#forwarding?.stop();
  }

  async #send(code: OperationCode, instanceId: string, event: OutsideEvent): Promise<void> {
    await this.#call(code, async (engine) => {
      if (!canBeInstanceId(instanceId)) throw notFound(instanceId);
      await this.#do(instanceId, event, (receipt) => sendEvent(engine, instanceId, event, receipt));
    });
  }

  /** Here when the instance is one of this host, else where it is. */
  #do(id: string, work: InstanceWork, throughStore: ThroughStore): Promise<unknown> {
    const forwarding = this.#forwarding;
    return forwarding === undefined ? throughStore() : forwarding.do(id, work, throughStore);
  }

  async #call<T>(code: OperationCode, work: (engine: Engine) => Promise<T>): Promise<T> {
    this.#deps.admit();
    try {
      if (this.#engine === undefined) throw new Error('workflows are not started');
      return await work(this.#engine);
    } catch (error) {
      if (isApiError(error)) throw error;
      throw new SidecarError(code, `the workflow operation failed: ${messageOf(error)}`, { cause: error });
    }
  }
}
