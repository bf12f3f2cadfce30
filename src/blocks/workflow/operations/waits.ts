import type { Engine } from '../engine/engine.ts';
import type { AwaitedStatus } from '../forwarding/call.ts';
import type { Forwarding } from '../forwarding/forwarding.ts';
import type { InstanceWatch } from '../forwarding/instance-watch.ts';
import { type InstanceView, isFinished, type WorkflowStatus } from '../model/instance.ts';
import { canBeInstanceId } from '../model/instance-id.ts';
import { notFound } from '../model/not-found.ts';
import { viewOf } from '../storage/render-instance.ts';
import type { Completions, WorkflowWaitOptions } from './completions.ts';

/** The dependencies of {@link Waits}. */
export interface WaitsDeps {
  readonly completions: Completions;
  /** Reads the store. */
  readonly call: <T>(work: (engine: Engine) => Promise<T>) => Promise<T>;
}

/** The condition of a waiter. */
const REACHED: Readonly<Record<AwaitedStatus, (status: WorkflowStatus) => boolean>> = {
  begun: (status) => status !== 'PENDING',
  over: isFinished,
};

/** Waits for instances, wherever they are. */
export class Waits {
  readonly #deps: WaitsDeps;
  #engine: Engine | undefined;
  #forwarding: Forwarding | undefined;

  constructor(deps: WaitsDeps) {
    this.#deps = deps;
  }

  /** Workflows run from now on. Without `forwarding`, other hosts are not asked. */
  start(engine: Engine, forwarding: Forwarding | undefined): void {
    this.#engine = engine;
    this.#forwarding = forwarding;
  }

  /** Waits until an instance is in a state. `isForOther`: another host asks, and only for instances of this host. */
  async until(
    id: string,
    { until, isForOther = false }: { readonly until: AwaitedStatus; readonly isForOther?: boolean },
    options: WorkflowWaitOptions,
  ): Promise<InstanceView> {
    if (!canBeInstanceId(id)) throw notFound(id);
    const isSo = REACHED[until];
    let watch: InstanceWatch | undefined;
    const ask = (told?: InstanceView): InstanceView | undefined | Promise<InstanceView | undefined> => {
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
      return await this.#deps.completions.wait(id, ask, options);
    } finally {
      watch?.[Symbol.dispose]();
    }
  }

  /** The view of an instance that is in the expected state, else `undefined` after one read. */
  #viewOnce(id: string, isSo: (status: WorkflowStatus) => boolean): Promise<InstanceView | undefined> {
    return this.#deps.call(async ({ store, pool }) => {
      const stored = await store.readRecord(id);
      if (stored === undefined) throw notFound(id);
      if (!isSo(stored.record.status)) return undefined;
      const { record } = await store.caughtUp(stored);
      return viewOf(record, await store.inputOf(id), pool.waitsOf(record));
    });
  }

  /** Another host, or the store, has news of its instances. */
  #watchElsewhere(instanceId: string, until: AwaitedStatus): InstanceWatch | undefined {
    if (this.#engine?.owns(instanceId) !== false) return undefined;
    const { completions } = this.#deps;
    return this.#forwarding?.watch(instanceId, until, (view) => completions.tell(instanceId, () => view));
  }
}
