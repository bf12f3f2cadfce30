import type { WorkflowLayout } from '../storage/layout.ts';
import type { Outgoing } from '../storage/turn-plan.ts';
import type { EngineServices } from './engine-services.ts';
import { Inbox, type InboxDeps } from './inbox.ts';
import type { InstancePool } from './instance-pool.ts';
import type { IntakeMessage } from './turn-intake.ts';

/** The dependencies of {@link Deliveries}. */
export interface DeliveriesDeps extends Pick<InboxDeps, 'prepare' | 'onFailure'> {
  readonly services: EngineServices;
  readonly pool: InstancePool;
}

/** Gives instances of this host the messages that are stored for them. */
export class Deliveries {
  readonly inbox: Inbox;
  readonly #deps: DeliveriesDeps;

  constructor(deps: DeliveriesDeps) {
    const { services, prepare, onFailure } = deps;
    this.#deps = deps;
    this.inbox = new Inbox({
      ...{ store: services.store, prepare, onFailure },
      isOurs: (id) => !services.isStopping && services.owns(id),
      deliver: (id, message) => this.#deliver(id, message),
      onDelivered: (id) => this.#release(id),
    });
  }

  /** Delivers a message that was just stored without reading it again. */
  send({ to, key, event, executionId, parentId }: Outgoing, version: number): void {
    const { services, onFailure } = this.#deps;
    if (services.isStopping || !services.owns(to) || !this.inbox.claim(key)) return;
    const done = services.deps.work.begin('message to a workflow');
    this.#deliver(to, { event, executionId, parentId, entry: { key, version } })
      .then(
        (isDelivered) => isDelivered || this.inbox.release(key),
        (error: unknown) => {
          this.inbox.release(key);
          onFailure(error);
        },
      )
      .finally(done);
  }

  async #deliver(id: string, message: IntakeMessage): Promise<boolean> {
    const { services, pool } = this.#deps;
    let instance = await pool.loadFor(id, message.event);
    // The instance may have left memory meanwhile: reload it, since nothing else would deliver the message.
    while (typeof instance === 'object' && instance.isGone && !services.isStopping && services.owns(id))
      instance = await pool.loadFor(id, message.event);
    if (typeof instance === 'object' && (instance.isGone || this.inbox.hasLeftovers(id))) return false;
    if (typeof instance === 'object') instance.post(message);
    else if (instance !== 'no-code' && message.entry !== undefined)
      await services.store.commit({ delete: [message.entry.key, ...offerOf(services.store.layout, id, message)] });
    return typeof instance === 'object';
  }

  /** Instances that wait for their stored messages go on when they have been given them. */
  #release(id: string | undefined): void {
    const { pool } = this.#deps;
    const delivered = id === undefined ? pool.all() : [pool.get(id)];
    for (const instance of delivered)
      if (instance?.restraint.isHeld === true && !this.inbox.mayHaveMore(instance.id)) instance.release();
  }
}

/** The offer of an attempt, whose result comes too late. */
function offerOf(layout: WorkflowLayout, instanceId: string, { event, executionId }: IntakeMessage): readonly string[] {
  if (event?.type !== 'activityCompleted' && event?.type !== 'activityFailed') return [];
  const attempt = layout.attemptId(instanceId, executionId, event.sequence);
  return [layout.attempt(attempt), layout.attemptInput(attempt)];
}
