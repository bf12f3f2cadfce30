import { isSameStore } from '../../cluster/local-hosts.ts';
import type { Message, PublishFailure } from '../../components/pubsub.ts';
import { type Observation, observe } from '../../probe.ts';
import type { StateStore } from '../../state/store.ts';
import type { DeliveryDeps } from './delivery/delivery-deps.ts';
import { publishFailed } from './errors.ts';
import type { PublishTarget } from './publish-targets.ts';
import { bulkFailed, type EncodedEntry, publishInPortions } from './publishing/bulk-publish.ts';
import { encodeMessage, type Publish } from './publishing/encode.ts';
import { PublishInCommit } from './publishing/publish-in-commit.ts';

/** A message of a bulk publish. */
export interface BulkPublish {
  readonly entryId: string;
  readonly publish: Publish;
}

/** Encodes messages and gives them to components. */
export class MessageSender {
  readonly #deps: Pick<DeliveryDeps, 'admit' | 'probe' | 'envelope' | 'clock' | 'events'>;

  constructor(deps: Pick<DeliveryDeps, 'admit' | 'probe' | 'envelope' | 'clock' | 'events'>) {
    this.#deps = deps;
  }

  /** Encodes and publishes one message. */
  send(target: PublishTarget, publish: Publish): Promise<void> {
    // Reading the body may have taken a while.
    this.#deps.admit();
    const { probe } = this.#deps;
    if (probe === undefined) return this.#send(target, publish);
    const { trace } = publish;
    return observe(probe, { type: 'publish', ...target.address, trace }, (observation) =>
      this.#send(target, { ...publish, trace: observation.trace ?? trace }, observation),
    );
  }

  async #send(target: PublishTarget, publish: Publish, observation?: Observation): Promise<void> {
    const message = this.encode(publish);
    observation?.sends(message);
    let failures: readonly PublishFailure[];
    try {
      failures = await target.pubsub.component.publish([message]);
    } catch (error) {
      throw publishFailed(target.address, error);
    }
    if (failures[0] !== undefined) throw publishFailed(target.address, failures[0].error);
    this.#emitPublished(target, message);
  }

  /** Encodes all messages, then publishes them in portions of at most `limitBytes`. */
  sendBulk(target: PublishTarget, entries: readonly BulkPublish[], limitBytes: number): Promise<void> {
    this.#deps.admit();
    const { probe } = this.#deps;
    if (probe === undefined) return this.#sendBulk(target, this.#encodeAll(entries), limitBytes);
    const trace = entries[0]?.publish.trace;
    return observe(probe, { type: 'publish', ...target.address, trace }, (observation) =>
      this.#sendBulk(target, this.#encodeAll(entries, observation), limitBytes),
    );
  }

  #encodeAll(entries: readonly BulkPublish[], observation?: Observation): EncodedEntry[] {
    return entries.map(({ entryId, publish }) => ({ entryId, message: this.#encodeFor(publish, observation) }));
  }

  #encodeFor(publish: Publish, observation: Observation | undefined): Message {
    const trace = observation?.trace ?? publish.trace;
    const message = this.encode(trace === publish.trace ? publish : { ...publish, trace });
    observation?.sends(message);
    return message;
  }

  async #sendBulk(target: PublishTarget, encoded: readonly EncodedEntry[], limitBytes: number): Promise<void> {
    const failed = await publishInPortions(target.pubsub.component, encoded, limitBytes);
    for (const { entryId, message } of encoded) if (!failed.has(entryId)) this.#emitPublished(target, message);
    if (failed.size > 0) throw bulkFailed(encoded, failed);
  }

  /**
   * Encodes messages that are to be published in a commit of another block on a store. `undefined` if the component does
   * not keep its messages in that store.
   */
  prepareInCommit(
    target: PublishTarget,
    publishes: readonly Publish[],
    store: StateStore,
  ): PublishInCommit | undefined {
    const { commits } = target.pubsub.component;
    if (commits === undefined || !isSameStore(commits.store, store)) return undefined;
    const observation = this.#deps.probe?.begin({ type: 'publish', ...target.address, trace: undefined });
    const messages = publishes.map((publish) => this.#encodeFor(publish, observation));
    const onPublished = (): void => {
      for (const message of messages) this.#emitPublished(target, message);
    };
    return new PublishInCommit({ commits, messages, observation, onPublished });
  }

  /** The message as it would be published. @throws SidecarError `ERR_PUBSUB_CLOUD_EVENTS_SER` */
  encode(publish: Publish): Message {
    const { envelope, clock } = this.#deps;
    return encodeMessage(publish, envelope, () => clock.now());
  }

  #emitPublished({ address }: PublishTarget, message: Message): void {
    const { events } = this.#deps;
    const { pubsubName, topic } = address;
    if (events.listenerCount('messagePublished') > 0)
      events.emit('messagePublished', { pubsubName, topic, messageId: message.id }, message);
  }
}
