import { Sidecar, type SidecarOptions, type WorkflowHistoryEvent, type WorkflowState } from '../../src/index.ts';
import type { VirtualClock } from '../../src/testing/index.ts';
import { patientClock } from './clock.ts';
import { KeptStore } from './kept-store.ts';
import { RecordingLogger } from './world.ts';

/** Registers what a sidecar runs. A process that begins anew has to do it again. */
export type Registering = (sidecar: Sidecar, world: WorkflowWorld) => void;

/** A sidecar that runs workflows, a clock that stands still, and state that outlives the sidecar. */
export class WorkflowWorld implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly store = new KeptStore();
  readonly logger = new RecordingLogger();
  /** What activities did, in order. */
  readonly seen: string[] = [];
  sidecar: Sidecar;
  readonly #options: Partial<SidecarOptions>;
  #registering: Registering;

  constructor(registering: Registering, options: Partial<SidecarOptions> = {}) {
    this.clock = patientClock();
    this.#options = options;
    this.#registering = registering;
    this.sidecar = this.#make();
  }

  #make(): Sidecar {
    const { clock, store, logger } = this;
    const sidecar = new Sidecar({ appId: 'shop', clock, state: store, logger, ...this.#options });
    this.#registering(sidecar, this);
    return sidecar;
  }

  async begin(): Promise<this> {
    await this.sidecar.start();
    await this.clock.settled();
    return this;
  }

  /** Starts an instance and lets it run as far as it gets without time passing. */
  async start(name: string, input?: unknown, instanceId = 'one'): Promise<WorkflowState> {
    await this.sidecar.workflows.start(name, input, { instanceId });
    return this.settle(instanceId);
  }

  /** An instance once everything has come to rest. */
  async settle(instanceId = 'one'): Promise<WorkflowState> {
    await this.clock.settled();
    const state = await this.sidecar.workflows.get(instanceId);
    if (state === undefined) throw new Error(`there is no instance ${instanceId}`);
    return state;
  }

  async raise(event: string, data?: unknown, instanceId = 'one'): Promise<WorkflowState> {
    await this.sidecar.workflows.raiseEvent(instanceId, event, data);
    return this.settle(instanceId);
  }

  /** Moves time on. */
  async pass(by: string | number, instanceId = 'one'): Promise<WorkflowState> {
    await this.clock.advance(by);
    return this.settle(instanceId);
  }

  history(instanceId = 'one'): Promise<readonly WorkflowHistoryEvent[]> {
    return this.sidecar.workflows.history(instanceId);
  }

  async stop(): Promise<void> {
    let isStopped = false;
    const stopped = this.sidecar.stop().finally(() => {
      isStopped = true;
    });
    // Time passes only for what does not end by itself.
    for (let turns = 0; turns < 50 && !isStopped; turns++) await new Promise((resolve) => setImmediate(resolve));
    if (!isStopped) await this.clock.advance('11s');
    await stopped;
  }

  /** As when the process ends and another one begins, perhaps with other code. */
  async restart(registering: Registering = this.#registering, later = '0s'): Promise<void> {
    await this.stop();
    await this.clock.advance(later);
    this.#registering = registering;
    this.sidecar = this.#make();
    await this.begin();
  }

  /** How many entries the store has of workflows. */
  async size(): Promise<number> {
    return (await this.store.memory.scan({ from: 'workflow', to: 'workflox' })).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** A world whose sidecar runs. */
export function workflowWorld(registering: Registering, options: Partial<SidecarOptions> = {}): Promise<WorkflowWorld> {
  return new WorkflowWorld(registering, options).begin();
}
