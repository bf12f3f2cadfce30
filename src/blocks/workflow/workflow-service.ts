import type { Membership } from '../../cluster/membership.ts';
import { type ErrorCode, isSidecarError, messageOf, SidecarError } from '../../errors.ts';
import type { BlockService } from '../block-service.ts';
import { Registry } from './authoring/registry.ts';
import { Engine, type EngineDeps } from './engine/engine.ts';
import type { WorkflowsDeps } from './engine/workflows-deps.ts';
import type { AwaitedStatus, HostPeer } from './forwarding/call.ts';
import { Forwarding, type HostIdentity, type ThroughStore } from './forwarding/forwarding.ts';
import type { InboundCallsDeps } from './forwarding/inbound-calls.ts';
import type { InstanceWatch } from './forwarding/instance-watch.ts';
import type { StartOptions } from './model/definition.ts';
import { type InstanceView, isFinished, type WorkflowHistoryEvent, type WorkflowStatus } from './model/instance.ts';
import { canBeInstanceId, newInstanceId } from './model/instance-id.ts';
import { notFound } from './model/not-found.ts';
import type { Payload } from './model/payload.ts';
import { Completions, type WaitOptions } from './operations/completions.ts';
import { type InstancePage, type ListOptions, listInstances } from './operations/list.ts';
import { sendEvent, startInstance } from './operations/operations.ts';
import { checkEventName, checkInput, parseStart } from './operations/parse-call.ts';
import { purge } from './operations/purge.ts';
import type { InstanceWork, OutsideEvent } from './operations/work.ts';
import { WorkflowLayout } from './storage/layout.ts';
import { historyOf } from './storage/render-history.ts';
import { viewOf } from './storage/render-instance.ts';

/** The dependencies of a {@link WorkflowService}. */
export interface WorkflowServiceDeps extends WorkflowsDeps {
  /** The first workflow was registered: this host has workflows from now on. */
  readonly onFirst: (service: WorkflowService) => void;
  readonly hostIdentity: HostIdentity;
}

/** What a waiter waits for. */
const REACHED: Readonly<Record<AwaitedStatus, (status: WorkflowStatus) => boolean>> = {
  begun: (status) => status !== 'PENDING',
  over: isFinished,
};

/** The error codes of operations whose store has failed. */
type Operation = Extract<ErrorCode, `ERR_${string}_WORKFLOW`>;

/** Stores workflow instances and runs them. Its payloads are text. */
export class WorkflowService implements BlockService {
  /** The code of workflows and activities. */
  readonly registry: Registry;
  readonly #deps: WorkflowServiceDeps;
  readonly #completions: Completions;
  #membership: Membership | undefined;
  #engine: Engine | undefined;
  #forwarding: Forwarding | undefined;
  #watch: Disposable | undefined;

  constructor(deps: WorkflowServiceDeps) {
    this.#deps = deps;
    this.#completions = new Completions(deps.clock);
    this.registry = new Registry(
      () => this.#engine?.codeChanged(),
      () => deps.onFirst(this),
    );
  }

  /** Starts an instance and answers its ID. */
  async startInstance(name: string, input: Payload, options: StartOptions = {}): Promise<string> {
    const { clock, newId } = this.#deps;
    this.#deps.admit();
    const start = parseStart({ name, input }, options, () => newInstanceId(clock.now(), newId()));
    const { instanceId, ...work } = start;
    await this.#call('ERR_START_WORKFLOW', (engine) =>
      this.#do(engine, instanceId, { type: 'start', ...work }, (receipt) => startInstance(engine, start, receipt)),
    );
    return start.instanceId;
  }

  /** Gives an event to an instance. */
  async raiseEvent(instanceId: string, name: string, data: Payload): Promise<void> {
    checkEventName(name);
    const event = { type: 'eventRaised', name, data: checkInput(data, 'the event') } as const;
    return this.#send('ERR_RAISE_EVENT_WORKFLOW', instanceId, event);
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
    const isThere = await this.#call('ERR_PURGE_WORKFLOW', async (engine) =>
      canBeInstanceId(instanceId) ? purge(engine, instanceId) : false,
    );
    if (!isThere) throw notFound(instanceId);
  }

  /** A page of instances, without their inputs. */
  list(options: ListOptions): Promise<InstancePage> {
    return this.#call('ERR_GET_WORKFLOW', (engine) => listInstances(engine, options));
  }

  /** What has happened to an instance, since it last continued as new. */
  history(instanceId: string): Promise<readonly WorkflowHistoryEvent[]> {
    return this.#call('ERR_GET_WORKFLOW', ({ store }) => historyOf(store, instanceId));
  }

  /** An instance. */
  async view(instanceId: string): Promise<InstanceView> {
    const view = await this.find(instanceId);
    if (view === undefined) throw notFound(instanceId);
    return view;
  }

  /** The same; `undefined` when there is none. */
  find(instanceId: string): Promise<InstanceView | undefined> {
    return this.#call('ERR_GET_WORKFLOW', async ({ store, pool }) => {
      const stored = canBeInstanceId(instanceId) ? await store.read(instanceId) : undefined;
      return stored && viewOf(stored.record, await store.inputOf(instanceId), pool.missingCodeOf(stored.record));
    });
  }

  /** Waits until an instance is over. */
  waitForCompletion(instanceId: string, options: WaitOptions = {}): Promise<InstanceView> {
    return this.#waitUntil(instanceId, { until: 'over' }, options);
  }

  /** Waits until an instance has begun. */
  waitForStart(instanceId: string, options: WaitOptions = {}): Promise<InstanceView> {
    return this.#waitUntil(instanceId, { until: 'begun' }, options);
  }

  async #waitUntil(
    id: string,
    { until, isForOther = false }: { readonly until: AwaitedStatus; readonly isForOther?: boolean },
    options: WaitOptions,
  ): Promise<InstanceView> {
    const isSo = REACHED[until];
    let watch: InstanceWatch | undefined;
    const ask = async (told?: InstanceView): Promise<InstanceView | undefined> => {
      if (told !== undefined && isSo(told.status)) return told;
      const isOurs = this.#engine?.owns(id) === true;
      if (isForOther && !isOurs) throw new Error('the instance is not one of this host');
      watch ??= this.#watchElsewhere(id, until);
      if (watch?.isAsked && !isOurs) return undefined;
      // A live instance of this host notifies of its changes.
      const live = isOurs ? this.#engine?.pool.get(id) : undefined;
      if (live !== undefined && !isSo(live.record.status)) return undefined;
      return this.#viewOnce(id, isSo);
    };
    try {
      return await this.#completions.wait(id, ask, options);
    } finally {
      watch?.[Symbol.dispose]();
    }
  }

  /** The view of an instance that is in the expected state, else `undefined` after one read. */
  #viewOnce(id: string, isSo: (status: WorkflowStatus) => boolean): Promise<InstanceView | undefined> {
    return this.#call('ERR_GET_WORKFLOW', async ({ store, pool }) => {
      const stored = canBeInstanceId(id) ? await store.readRecord(id) : undefined;
      if (stored === undefined) throw notFound(id);
      if (!isSo(stored.record.status)) return undefined;
      const { record } = await store.caughtUp(stored);
      return viewOf(record, await store.inputOf(id), pool.missingCodeOf(record));
    });
  }

  /** Another host, or the store, tells of its instances. */
  #watchElsewhere(instanceId: string, until: AwaitedStatus): InstanceWatch | undefined {
    if (this.#engine?.owns(instanceId) !== false) return undefined;
    return this.#forwarding?.watch(instanceId, until, (view) => this.#completions.tell(instanceId, () => view));
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

  /** Begins to run workflows. */
  start(): void {
    if (this.#membership === undefined) return;
    const { store, shards } = this.#membership;
    const layout = new WorkflowLayout(this.#deps.appId);
    const onStatus: EngineDeps['onStatus'] = (id, view) => this.#completions.tell(id, view);
    this.#engine = new Engine({ state: store, shards, layout, registry: this.registry, host: this.#deps, onStatus });
    this.#engine.start();
    this.#forwarding = this.#forward(this.#engine, this.#membership);
    // Pending waits must follow an instance to its new host.
    this.#watch = shards.onChange(() => this.#completions.tellAll());
  }

  #forward(engine: Engine, membership: Membership): Forwarding {
    const { admit, hostIdentity } = this.#deps;
    const waitHere: InboundCallsDeps['waitHere'] = (id, until, options) =>
      this.#waitUntil(id, { until, isForOther: true }, options);
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
    await this.#engine?.stop();
    this.#completions.tellAll();
    await this.#forwarding?.stop();
  }

  async #send(code: Operation, instanceId: string, event: OutsideEvent): Promise<void> {
    await this.#call(code, async (engine) => {
      if (!canBeInstanceId(instanceId)) throw notFound(instanceId);
      await this.#do(engine, instanceId, event, (receipt) => sendEvent(engine, instanceId, event, receipt));
    });
  }

  /** Here when the instance is one of this host, else where it is. */
  #do(engine: Engine, id: string, work: InstanceWork, throughStore: ThroughStore): Promise<unknown> {
    if (engine.owns(id) || this.#forwarding === undefined) return throughStore();
    return this.#forwarding.do(id, work, throughStore);
  }

  async #call<T>(code: Operation, work: (engine: Engine) => Promise<T>): Promise<T> {
    this.#deps.admit();
    try {
      if (this.#engine === undefined) throw new Error('workflows are not started');
      return await work(this.#engine);
    } catch (error) {
      if (isSidecarError(error)) throw error;
      throw new SidecarError(code, `the workflow operation failed: ${messageOf(error)}`, { cause: error });
    }
  }
}
