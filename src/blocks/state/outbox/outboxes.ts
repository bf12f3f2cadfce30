import type { KeyValueDefinition, OutboxEvent } from '../../../components/key-value.ts';
import { SidecarError } from '../../../errors.ts';
import type { BlockDeps } from '../../block-deps.ts';
import type { StateChange } from '../change.ts';
import type { OpenStateStore } from '../open-state-store.ts';
import { type EventSource, eventsOf } from './events.ts';
import { OutboxRelay } from './outbox-relay.ts';
import type { OutboxPublisher } from './publisher.ts';

/** The dependencies of {@link StateOutboxes}. */
export interface OutboxesDeps extends Pick<BlockDeps, 'appId' | 'wire' | 'clock' | 'newId' | 'logger' | 'work'> {
  readonly publisher: () => OutboxPublisher;
  /** Whether the application has this pub/sub. */
  readonly hasPubSub: (pubsubName: string) => boolean;
}

/** The outbox of one store. */
export class StateOutbox {
  readonly #source: EventSource;
  readonly relayer: OutboxRelay;

  constructor(source: EventSource, relayer: OutboxRelay) {
    this.#source = source;
    this.relayer = relayer;
  }

  /** The events of a transaction. */
  eventsOf(changes: readonly StateChange[]): readonly OutboxEvent[] {
    return eventsOf(changes, this.#source);
  }

  /** Events have been written: publishes them. */
  relay(): void {
    this.relayer.wake();
  }
}

/** The outboxes of all stores that have one. */
export class StateOutboxes {
  readonly #deps: OutboxesDeps;
  readonly #byStore = new Map<string, StateOutbox>();

  constructor(deps: OutboxesDeps) {
    this.#deps = deps;
  }

  /** The outbox of a store; `undefined` if it has none. */
  of(storeName: string): StateOutbox | undefined {
    return this.#byStore.get(storeName);
  }

  /** @throws SidecarError `ERR_CONFIGURATION` for a store that cannot keep events */
  open(definitions: readonly KeyValueDefinition[], find: (name: string) => OpenStateStore): void {
    const { appId, wire, clock, newId } = this.#deps;
    for (const { name, options } of definitions) {
      if (options.outbox === undefined) continue;
      const { pubsubName } = options.outbox;
      if (!this.#deps.hasPubSub(pubsubName))
        throw new SidecarError(
          'ERR_CONFIGURATION',
          `state store ${name} publishes to ${JSON.stringify(pubsubName)}, and there is no such pub/sub component`,
        );
      const { outbox } = find(name).store;
      if (outbox === undefined)
        throw new SidecarError(
          'ERR_CONFIGURATION',
          `state store ${name} has an outbox, and cannot keep its events, as a Redis cluster`,
        );
      const { outbox: destination } = options;
      const check = (event: Uint8Array): void => this.#deps.publisher().check(destination, event);
      const source = { appId, eventType: wire.eventType, now: () => clock.now(), newId, destination, check };
      const relay = new OutboxRelay({ ...this.#deps, storeName: name, outbox });
      this.#byStore.set(name, new StateOutbox(source, relay));
    }
  }

  /** Publishes what former processes have left. */
  start(): void {
    for (const { relayer } of this.#byStore.values()) relayer.start();
  }

  /** Waits for the events that are being published. */
  async stop(): Promise<void> {
    await Promise.all([...this.#byStore.values()].map(({ relayer }) => relayer.stop()));
  }
}
