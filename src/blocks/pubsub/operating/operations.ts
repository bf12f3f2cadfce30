import type { Message } from '../../../components/pubsub.ts';
import type { GroupQueue, QueueAccess, QueueEntry, QueueStatus } from '../../../components/queue-access.ts';
import { isApiError, SidecarError } from '../../../errors.ts';
import { isStateError } from '../../../state/errors.ts';
import { definedOnly } from '../../../util/defined-only.ts';
import { nameOfKind } from '../../../util/known-fields.ts';
import type { Logger } from '../../../util/logger.ts';
import { invalidArgument } from '../../../util/option-fields.ts';
import { NO_METADATA } from '../../request-metadata.ts';
import type { QueueRef } from '../delivery/subscription-info.ts';
import type { SubscribablePubSub } from '../delivery/subscriptions.ts';
import { knownNames, pubsubNotFound } from '../errors.ts';
import { redelivered } from './edit.ts';
import type { MessageSelection, QueueInfo, QueuePage, QueuePageOptions, RedeliverOptions } from './queue-types.ts';
import { checkQueue, checkRead, checkRedelivery, parseSelection } from './selection.ts';

const DEFAULT_LIMIT = 50;

/** The dependencies of {@link QueueOperations}. */
export interface QueueOperationsDeps {
  readonly pubsubs: ReadonlyMap<string, SubscribablePubSub>;
  readonly logger: Logger;
  /** Throws if the sidecar accepts no work now. */
  readonly admit: () => void;
}

/** Reads and changes the queues of the components, to operate the application. */
export class QueueOperations {
  readonly #deps: QueueOperationsDeps;

  constructor(deps: QueueOperationsDeps) {
    this.#deps = deps;
  }

  /** The queues of one component, or of all that have some. */
  async list(pubsubName: string | undefined, topic: string | undefined): Promise<readonly QueueInfo[]> {
    if (pubsubName !== undefined) return this.#statesOf(pubsubName, this.#access(pubsubName), topic);
    const { pubsubs } = this.#deps;
    const states = await Promise.all(
      [...pubsubs].map(([name, { component }]) =>
        component.queues === undefined ? [] : this.#statesOf(name, component.queues, topic),
      ),
    );
    return states.flat();
  }

  /** Queues that collect messages without a consumer, as far as this host knows. */
  abandoned(): readonly (QueueRef & { readonly messages: number })[] {
    return [...this.#deps.pubsubs].flatMap(([pubsubName, { component }]) =>
      (component.queues?.abandoned() ?? []).map((one) => ({ pubsubName, ...one })),
    );
  }

  async #statesOf(name: string, queues: QueueAccess, topic: string | undefined): Promise<readonly QueueInfo[]> {
    return (await work(() => queues.status(topic))).map((status) => stateOf(name, status));
  }

  async read(name: QueueRef, options: QueuePageOptions): Promise<QueuePage> {
    checkRead(options);
    const queues = this.#accessTo(name);
    const read = { ...definedOnly(options), limit: options.limit ?? DEFAULT_LIMIT };
    const { entries, ...rest } = await work(() => queues.read(queueOf(name), read));
    return { messages: entries, ...rest };
  }

  async find(name: QueueRef, key: string): Promise<QueueEntry | undefined> {
    if (typeof key !== 'string') throw invalidArgument(`the key is ${JSON.stringify(key)}: expected a string`, 'key');
    const queues = this.#accessTo(name);
    return work(() => queues.find(queueOf(name), key));
  }

  async redeliver(name: QueueRef, given: MessageSelection, options: RedeliverOptions): Promise<number> {
    const selection = parseSelection(given);
    checkRedelivery(selection, options);
    const queues = this.#accessTo(name);
    const { data, to } = options;
    if (to?.topic === name.topic && to.group === name.group)
      throw new SidecarError(
        'ERR_INVALID_ARGUMENT',
        'the messages are in this queue: expected another one in the option to',
      );
    const count = await work(() =>
      queues.redeliver(queueOf(name), selection, ({ message }) => {
        const target = to ?? message.deadLetter;
        return target && { to: target, message: redelivered(message, target.topic, data) };
      }),
    );
    return this.#told(name, count, 'messages redelivered');
  }

  async discard(name: QueueRef, given: MessageSelection): Promise<number> {
    const selection = parseSelection(given);
    const queues = this.#accessTo(name);
    return this.#told(name, await work(() => queues.discard(queueOf(name), selection)), 'messages discarded');
  }

  async setPaused(name: QueueRef, isPaused: boolean): Promise<void> {
    const queues = this.#accessTo(name);
    await work(() => queues.setPaused(queueOf(name), isPaused));
    this.#deps.logger.info({ ...queueOf(name) }, isPaused ? 'queue paused' : 'queue resumed');
  }

  async addGroup(name: QueueRef): Promise<boolean> {
    const queues = this.#accessTo(name);
    const isNew = await work(() => queues.addGroup(queueOf(name)));
    if (isNew) this.#deps.logger.info({ ...queueOf(name) }, 'group added');
    return isNew;
  }

  async removeGroup(name: QueueRef): Promise<boolean> {
    const queues = this.#accessTo(name);
    const wasThere = await work(() => queues.removeGroup(queueOf(name)));
    if (wasThere) this.#deps.logger.info({ ...queueOf(name) }, 'group removed, with its messages');
    return wasThere;
  }

  /** Plain JavaScript may leave a part of the name out. */
  #accessTo(name: QueueRef): QueueAccess {
    if (nameOfKind(name) !== 'an object')
      throw invalidArgument(`the queue is ${nameOfKind(name)}: expected an object`, 'queue');
    const queues = this.#access(name.pubsubName);
    checkQueue(name, 'the queue', 'queue');
    return queues;
  }

  #access(pubsubName: string): QueueAccess {
    const { pubsubs, admit } = this.#deps;
    admit();
    const pubsub = pubsubs.get(pubsubName);
    if (pubsub === undefined)
      throw pubsubNotFound(pubsubName, NO_METADATA, { hint: knownNames(pubsubName, pubsubs.keys()) });
    const { queues } = pubsub.component;
    if (queues !== undefined) return queues;
    throw new SidecarError('ERR_QUEUES_NOT_SUPPORTED', `pubsub ${pubsubName} gives no access to its queues`);
  }

  #told({ pubsubName, topic, group }: QueueRef, count: number, what: string): number {
    if (count > 0) this.#deps.logger.info({ pubsubName, topic, group, count }, what);
    return count;
  }
}

function queueOf({ topic, group }: QueueRef): GroupQueue {
  return { topic, group };
}

/** Errors of the store become those of the API: without its keys and paths. */
async function work<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (isApiError(cause) || !isStateError(cause)) throw cause;
    const why = cause.kind === 'full' ? 'has no space left' : 'has failed';
    throw new SidecarError('ERR_INTERNAL', `the state store ${why}`, { cause });
  }
}

function stateOf(pubsubName: string, { first, ...status }: QueueStatus): QueueInfo {
  const oldestAt = first === undefined ? undefined : timeOf(first);
  return { pubsubName, ...status, ...(oldestAt === undefined ? {} : { oldestAt }) };
}

/** The `time` of a CloudEvent, if it has one. */
function timeOf({ raw, data }: Message): number | undefined {
  if (raw) return undefined;
  try {
    const { time } = JSON.parse(Buffer.from(data).toString()) as { readonly time?: unknown };
    const at = typeof time === 'string' ? Date.parse(time) : Number.NaN;
    return Number.isNaN(at) ? undefined : at;
  } catch {
    return undefined;
  }
}
