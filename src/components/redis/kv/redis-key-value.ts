import { isStateError, quote, StateError } from '../../../state/errors.ts';
import type { ComponentContext } from '../../component.ts';
import type {
  KeyScanPage,
  KeyValueOperation,
  KeyValueStore,
  StoredValue,
  WriteOptions,
  WriteOutcome,
} from '../../key-value.ts';
import { OutageLog } from '../../outage-log.ts';
import { unreachableText } from '../../reconnector.ts';
import { CallGroups } from '../../remote/call-groups.ts';
import { type RedisServerSettings, routerTo } from '../connection-options.ts';
import type { RedisArgument } from '../driver.ts';
import type { KeyRouter } from '../pubsub/key-router.ts';
import type { Script } from '../scripts.ts';
import { targetName } from '../target.ts';
import { KeyScan } from './key-scan.ts';
import { RedisOutbox } from './redis-outbox.ts';
import { ReplicaWait } from './replica-wait.ts';
import { FOREIGN, READ, WRITE } from './scripts.ts';
import { StrongOrder } from './strong-order.ts';
import { argumentsOf, type Group, outcomeOf, sameOutcomes } from './write-arguments.ts';

/** Bounds of what one script does: the server does nothing else meanwhile. */
const MAX_KEYS = 1_000;
const MAX_BYTES = 1_024 * 1_024;

/** Settings of a {@link RedisKeyValue}. */
export interface RedisKeyValueSettings extends RedisServerSettings {
  readonly name: string;
}

/** The groups of one write. */
interface Write {
  readonly groups: readonly Group[];
  readonly isStrong: boolean;
}

/** Values in Redis in the form of Dapr's `state.redis`. */
export class RedisKeyValue implements KeyValueStore {
  readonly outbox?: RedisOutbox;
  readonly #settings: RedisKeyValueSettings;
  readonly #context: ComponentContext;
  readonly #router: KeyRouter;
  /** Writes that wait for replicas have a connection of their own: all that follows on it waits with them. */
  #strongRouter: KeyRouter | undefined;
  readonly #replicas: ReplicaWait;
  readonly #outages: OutageLog;
  readonly #reads: CallGroups<readonly string[], readonly (StoredValue | undefined)[]>;
  readonly #writes: CallGroups<Write, readonly WriteOutcome[]>;
  readonly #strongWrites: CallGroups<Write, readonly WriteOutcome[]>;
  readonly #strongOrder = new StrongOrder((keys) => this.#plainDone(keys));
  readonly #scan: KeyScan;
  #closing: Promise<void> | undefined;

  constructor(settings: RedisKeyValueSettings, context: ComponentContext) {
    this.#settings = settings;
    this.#context = context;
    this.#replicas = new ReplicaWait(context.logger);
    this.#outages = new OutageLog(context.logger, targetName(settings.target));
    this.#router = this.#newRouter();
    const unlimited = { maxSize: MAX_KEYS, maxUnderWay: Number.POSITIVE_INFINITY };
    this.#reads = new CallGroups({
      ...unlimited,
      send: (calls) => this.#readAll(calls),
      sizeOf: (keys) => keys.length,
    });
    const writes = { ...unlimited, send: (calls: readonly Write[]) => this.#writeAll(calls), sizeOf };
    this.#writes = new CallGroups(writes);
    this.#strongWrites = new CallGroups(writes);
    this.#scan = new KeyScan({
      run: (slot, called, args) => this.#runRead(slot, called, [[], args]),
      nodes: () => this.#router.slotsOfNodes(),
    });
    // The keys of a cluster lie on several nodes, and no script reaches two of them.
    if (!settings.target.isCluster)
      this.outbox = new RedisOutbox(context.appId, settings.name, (script, keys, args) =>
        this.#run(this.#router, 0, script, [keys, args]),
      );
  }

  #newRouter(): KeyRouter {
    return routerTo(this.#settings, this.#context.logger, this.#outages);
  }

  /** Waits for the first attempt to connect. */
  async begin(): Promise<void> {
    await this.#router.reachable(0);
  }

  get failure(): Error | undefined {
    const { failure, name } = this.#router;
    return failure === undefined ? undefined : new StateError('failed', unreachableText(name, failure));
  }

  async read(keys: readonly string[]): Promise<readonly (StoredValue | undefined)[]> {
    this.#checkOpen();
    return keys.length === 0 ? [] : this.#reads.add(keys);
  }

  async #readAll(
    calls: readonly (readonly string[])[],
  ): Promise<readonly (readonly (StoredValue | undefined)[] | Error)[]> {
    const slots = new Map<number, string[]>();
    const places = calls.map((keys) =>
      keys.map((key) => {
        const slot = this.#router.slot(key);
        const own = slots.get(slot) ?? [];
        if (own.length === 0) slots.set(slot, own);
        return { slot, index: own.push(key) - 1 };
      }),
    );
    const found = new Map<number, Found | Error>();
    const read = async ([slot, keys]: readonly [number, readonly string[]]): Promise<void> => {
      found.set(slot, await this.#readSlot(slot, keys).catch((error: Error) => error));
    };
    await Promise.all([...slots].map(read));
    return places.map((own) => {
      try {
        return own.map(({ slot, index }) => this.#valueAt(found.get(slot) ?? [], index, slots.get(slot) ?? []));
      } catch (error) {
        return error as Error;
      }
    });
  }

  async #readSlot(slot: number, keys: readonly string[]): Promise<Found> {
    return (await this.#runRead(slot, READ, [keys, []])) as Found;
  }

  /** Runs a script that changes nothing: once more if the connection was lost. */
  async #runRead(slot: number, called: Script, rest: ScriptArguments): Promise<unknown> {
    const run = (): Promise<unknown> => this.#run(this.#router, slot, called, rest);
    return run().catch((error: Error) => (isStateError(error) ? Promise.reject(error) : run()));
  }

  async scan(
    prefix: string,
    page: { readonly cursor?: string; readonly limit: number },
  ): Promise<KeyScanPage | undefined> {
    this.#checkOpen();
    return this.#scan.page(prefix, page);
  }

  #valueAt(found: Found | Error, index: number, keys: readonly string[]): StoredValue | undefined {
    if (found instanceof Error) throw found;
    const [data, version, expiresAt] = [found[3 * index], found[3 * index + 1], found[3 * index + 2]];
    if (data) {
      const value = { bytes: data, etag: version?.toString() };
      return expiresAt ? { ...value, expiresAt: Number(expiresAt) } : value;
    }
    if (version) throw this.#foreignError(keys[index] ?? '', String(version).slice(FOREIGN.length));
    return undefined;
  }

  #foreignError(key: string, type: string): StateError {
    const message = `The key ${quote(key)} of ${this.#router.name} holds a ${type}, which no state store has written.`;
    return new StateError('corrupt', `${message} It is neither read nor overwritten.`);
  }

  async write(operations: readonly KeyValueOperation[], options: WriteOptions): Promise<readonly WriteOutcome[]> {
    this.#checkOpen();
    const { atomic, isStrong = false, events = [] } = options;
    if (operations.length === 0 && events.length === 0) return [];
    const groups = atomic ? [{ operations, events }] : operations.map((one) => ({ operations: [one], events: [] }));
    if (atomic) this.#checkSlots(operations);
    if (isStrong || this.#strongOrder.has(operations))
      return this.#strongOrder.run(operations, () => this.#addWrite(groups, true));
    return this.#addWrite(groups, false);
  }

  async #addWrite(groups: readonly Group[], isStrong: boolean): Promise<readonly WriteOutcome[]> {
    const writes = isStrong ? this.#strongWrites : this.#writes;
    if (groups.length <= MAX_KEYS) return writes.add({ groups, isStrong });
    const parts: Promise<readonly WriteOutcome[]>[] = [];
    for (let at = 0; at < groups.length; at += MAX_KEYS)
      parts.push(writes.add({ groups: groups.slice(at, at + MAX_KEYS), isStrong }));
    return (await Promise.all(parts)).flat();
  }

  async #plainDone(keys: readonly string[]): Promise<void> {
    if (this.#writes.isIdle) return;
    // Nothing is written, but all that waited before has been sent. The server answers the connection in order.
    await this.#writes.add({ groups: [], isStrong: false });
    const slots = new Set(keys.map((key) => this.#router.slot(key)));
    // A lost connection is what the plain writes report.
    await Promise.allSettled([...slots].map((slot) => this.#router.send(slot, ['PING'])));
  }

  #checkSlots(operations: readonly KeyValueOperation[]): void {
    const slots = new Set(operations.map(({ key }) => this.#router.slot(key)));
    if (slots.size <= 1) return;
    const message = `${this.#router.name} is a cluster, and the keys of the transaction lie in ${slots.size} of its slots`;
    throw new StateError('invalid', `${message}: expected keys with one hash tag, such as {order-1}-item.`);
  }

  async #writeAll(calls: readonly Write[]): Promise<readonly (readonly WriteOutcome[] | Error)[]> {
    const groups = calls.flatMap((call) => call.groups);
    const isStrong = calls[0]?.isStrong === true;
    const slots = new Map<number, Group[]>();
    for (const group of groups) {
      const slot = this.#router.slot(group.operations[0]?.key ?? '');
      const own = slots.get(slot);
      if (own === undefined) slots.set(slot, [group]);
      else own.push(group);
    }
    const written = new Map<Group, readonly WriteOutcome[] | Error>();
    await Promise.all(
      [...slots].map(async ([slot, own]) => {
        const outcomes = await this.#writeSlot(slot, own, isStrong).catch((error: Error) => {
          const failure = this.#unconfirmed(error);
          return own.map(() => failure);
        });
        for (const [index, group] of own.entries()) written.set(group, outcomes[index] ?? []);
      }),
    );
    return calls.map((call) => {
      const outcomes = call.groups.map((group) => written.get(group) ?? []);
      return outcomes.find((one) => one instanceof Error) ?? (outcomes as (readonly WriteOutcome[])[]).flat();
    });
  }

  #unconfirmed(error: Error): StateError {
    if (isStateError(error)) return error;
    const message = `${this.#router.name} did not confirm the change, which may have been made: ${error.message}`;
    return new StateError('failed', message, error);
  }

  async #writeSlot(
    slot: number,
    groups: readonly Group[],
    isStrong: boolean,
  ): Promise<readonly (readonly WriteOutcome[] | Error)[]> {
    if (isStrong) this.#strongRouter ??= this.#newRouter();
    const router = (isStrong ? this.#strongRouter : undefined) ?? this.#router;
    const keys = groups.flatMap(({ operations }) => operations.map(({ key }) => key));
    if (groups.some(({ events }) => events.length > 0)) keys.push(...(this.outbox?.keys ?? []));
    const reply = await this.#run(router, slot, WRITE, [keys, argumentsOf(groups)]);
    if (isStrong) await this.#replicas.wait(router, slot);
    if (Buffer.isBuffer(reply)) return groups.map(({ operations }) => sameOutcomes(operations.length, reply));
    const answers = reply as readonly Buffer[];
    let at = 0;
    return groups.map(({ operations }) => {
      const own = answers.slice(at, at + operations.length).map(String);
      at += operations.length;
      const foreign = own.findIndex((answer) => answer.startsWith(FOREIGN));
      if (foreign >= 0)
        return this.#foreignError(operations[foreign]?.key ?? '', (own[foreign] ?? '').slice(FOREIGN.length));
      return own.map(outcomeOf);
    });
  }

  /**
   * Runs a script on a connection, the next one if there is none.
   *
   * @throws StateError, or ConnectionLostError when the script may have run.
   */
  async #run(router: KeyRouter, slot: number, called: Script, [keys, args]: ScriptArguments): Promise<unknown> {
    await router.ready(slot).catch((error: Error) => {
      throw new StateError('failed', unreachableText(router.name, error.message), error);
    });
    return router.runScript(slot, called, keys, args);
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new StateError('closed', 'The state store is closed.');
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#strongOrder.turn;
    await Promise.all([this.#reads.idle(), this.#writes.idle(), this.#strongWrites.idle()]);
    await Promise.all([this.#router.close(), this.#strongRouter?.close()]);
  }
}

type ScriptArguments = readonly [keys: readonly string[], args: readonly RedisArgument[]];

/** The reply to {@link READ}. */
type Found = readonly (Buffer | null)[];

function sizeOf({ groups }: Write): number {
  let bytes = 0;
  let keys = 0;
  for (const { operations } of groups) {
    keys += operations.length;
    for (const one of operations) if (one.kind === 'put') bytes += one.value.byteLength;
  }
  return keys + (bytes / MAX_BYTES) * MAX_KEYS;
}
