import type { Duration, Sidecar, WorkflowHistoryEvent, WorkflowState } from '../../src/index.ts';
import type { StateDefinition } from '../../src/kit/index.ts';
import { KeptStore } from './kept-store.ts';
import { TestSidecar, type TestSidecarOptions } from './sidecar.ts';

/** Registers what a sidecar runs. A process that begins anew has to do it again. */
export type Registering = (sidecar: Sidecar, world: WorkflowWorld) => void;

/** A sidecar that runs workflows, with state that outlives it. */
export class WorkflowWorld extends TestSidecar {
  readonly store: KeptStore;
  /** Where the state is kept, for another world. */
  readonly stateOptions: StateDefinition;
  /** What activities did, in order. */
  readonly seen: string[] = [];
  #registering: Registering;

  constructor(registering: Registering, options: TestSidecarOptions = {}) {
    const store = new KeptStore();
    super({ state: store, ...options });
    this.store = store;
    this.stateOptions = options.state ?? store;
    this.#registering = registering;
    registering(this.sidecar, this);
  }

  /** Starts an instance, in place of one that has finished, and lets it run as far as it gets without time passing. */
  async run(name: string, input?: unknown, instanceId = 'one'): Promise<WorkflowState> {
    await this.sidecar.workflows.start(name, input, { instanceId, ifExists: 'replace' });
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

  /** Moves time on, and answers how an instance stands then. */
  override async pass(by: Duration, instanceId = 'one'): Promise<WorkflowState> {
    await this.clock.advance(by);
    return this.settle(instanceId);
  }

  history(instanceId = 'one'): Promise<readonly WorkflowHistoryEvent[]> {
    return this.sidecar.workflows.history(instanceId);
  }

  /** As when the process ends and another one begins, perhaps with other code. */
  async restart(registering: Registering = this.#registering, later: Duration = '0s'): Promise<void> {
    await this.replace(later);
    this.#registering = registering;
    registering(this.sidecar, this);
    await this.start();
  }

  /** How many entries the store has of workflows. */
  async size(): Promise<number> {
    return (await this.store.memory.scan({ from: 'workflow', to: 'workflox' })).length;
  }
}

/** A world whose sidecar runs. */
export function workflowWorld(registering: Registering, options: TestSidecarOptions = {}): Promise<WorkflowWorld> {
  return new WorkflowWorld(registering, options).start();
}
