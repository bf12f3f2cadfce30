import type { KeyValueDefinition, OutboxEvent, WriteOptions, WriteOutcome } from '../../../components/key-value.ts';
import { SidecarError } from '../../../errors.ts';
import type { StateStore } from '../../../state/store.ts';
import type { BlockDeps } from '../../block-deps.ts';
import type { StateChange } from '../change.ts';
import type { OpenStateStore } from '../open-state-store.ts';
import { type EventSource, eventsOf, openEvent } from './events.ts';
import { OutboxRelay } from './outbox-relay.ts';
import type { EventsInCommit, OutboxPublisher } from './publisher.ts';
import { TransactionIds } from './transaction-ids.ts';

/** The dependencies of {@link StateOutboxes}. */
export interface OutboxesDeps extends Pick<BlockDeps, 'appId' | 'wire' | 'clock' | 'newId' | 'logger' | 'work'> {
  readonly publisher: () => OutboxPublisher;
  /** Whether the application has this pub/sub. */
  readonly hasPubSub: (pubsubName: string) => boolean;
}

/** The dependencies of a {@link StateOutbox}. */
interface OutboxDeps extends Pick<OutboxesDeps, 'publisher'> {
  readonly source: EventSource;
  readonly ids: TransactionIds;
  /** The greatest ID of the events that wait, if the store has them in the order of their IDs. */
  readonly lastId: () => Promise<string | undefined>;
  readonly relay: OutboxRelay;
  /** The state store that has the values; `undefined` if they are elsewhere. */
  readonly stateStore: StateStore | undefined;
}

/** How the events of a transaction are written. */
export type EventOptions = Pick<WriteOptions, 'events' | 'publish'>;

/** The outbox of one store. */
export class StateOutbox {
  readonly #deps: OutboxDeps;
  #hasBegun = false;

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Whether it needs no {@link StateOutbox.begin}, after which a later write could overtake a transaction. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Makes the IDs of this process follow those that former ones have left, of whatever clock. */
  async begin(): Promise<void> {
    const last = await this.#deps.lastId();
    if (last !== undefined) this.#deps.ids.continueAfter(last);
    this.#hasBegun = true;
  }

  /** The events of a transaction. */
  eventsOf(changes: readonly StateChange[]): readonly OutboxEvent[] {
    return eventsOf(changes, this.#deps.source);
  }

  /**
   * Has a transaction written with its events. Their messages are in the same commit if the pub/sub component keeps them
   * in the same store. Otherwise, while earlier events wait, and if they are refused, such as by a full queue, the events
   * are left in the outbox, and are published from there.
   */
  async write(
    events: readonly OutboxEvent[],
    write: (options: EventOptions) => Promise<readonly WriteOutcome[]>,
  ): Promise<readonly WriteOutcome[]> {
    if (events.length === 0) return write({});
    const inCommit = this.#prepareInCommit(events);
    try {
      const outcomes = await write(
        inCommit === undefined ? { events } : { events, publish: (batch) => inCommit.commit(batch) },
      );
      if (inCommit?.isPublished !== true && outcomes.every(({ status }) => status === 'done'))
        this.#deps.relay.expect();
      return outcomes;
    } finally {
      inCommit?.end();
    }
  }

  #prepareInCommit(events: readonly OutboxEvent[]): EventsInCommit | undefined {
    const { publisher, relay, source, stateStore } = this.#deps;
    if (stateStore === undefined || relay.isBehind) return undefined;
    const cloudEvents = events.map(({ bytes }) => openEvent(bytes).event);
    return publisher().prepareInCommit(source.destination, cloudEvents, stateStore);
  }

  /** Publishes what former processes have left. */
  start(): void {
    this.#deps.relay.start();
  }

  /** Waits for the events that are being published. */
  stop(): Promise<void> {
    return this.#deps.relay.stop();
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
  async open(definitions: readonly KeyValueDefinition[], find: (name: string) => OpenStateStore): Promise<void> {
    const { appId, wire, clock, newId } = this.#deps;
    for (const { name, options } of definitions) {
      if (options.outbox === undefined) continue;
      const { pubsubName } = options.outbox;
      if (!this.#deps.hasPubSub(pubsubName))
        throw new SidecarError(
          'ERR_CONFIGURATION',
          `state store ${name} publishes to ${JSON.stringify(pubsubName)}, and there is no such pub/sub component`,
        );
      const { store } = find(name);
      const { outbox, stateStore } = store;
      if (outbox === undefined)
        throw new SidecarError(
          'ERR_CONFIGURATION',
          `state store ${name} has an outbox, and cannot keep its events, as a Redis cluster`,
        );
      const { outbox: destination } = options;
      const check = (event: Uint8Array): void => this.#deps.publisher().check(destination, event);
      const ids = new TransactionIds(clock, newId);
      const newTransactionId = (): string => ids.next();
      const now = (): number => clock.now();
      const source = { appId, eventType: wire.eventType, now, newTransactionId, destination, check };
      const relay = new OutboxRelay({ ...this.#deps, storeName: name, store, outbox });
      const lastId = async (): Promise<string | undefined> => outbox.lastId?.();
      const { publisher } = this.#deps;
      const opened = new StateOutbox({ publisher, source, ids, lastId, relay, stateStore });
      this.#byStore.set(name, opened);
      // A store that is down is asked again by the first transaction.
      await opened.begin().catch(() => undefined);
    }
  }

  /** Publishes what former processes have left. */
  start(): void {
    for (const outbox of this.#byStore.values()) outbox.start();
  }

  /** Waits for the events that are being published. */
  async stop(): Promise<void> {
    await Promise.all([...this.#byStore.values()].map((outbox) => outbox.stop()));
  }
}
