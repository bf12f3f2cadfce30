import { messageOf } from '../../../errors.ts';
import { CommitBatcher } from '../../../kernel/commit-batcher.ts';
import { ExpirySweep, lookAt } from '../../../kernel/expiry-sweep.ts';
import type { OwnedShards } from '../../../kernel/owned-shards.ts';
import { isConflictError, isStateError } from '../../../state/errors.ts';
import type { Precondition, Put, StateStore } from '../../../state/store.ts';
import type { Clock } from '../../../util/clock.ts';
import type { Logger } from '../../../util/logger.ts';
import type { Work } from '../../../util/work.ts';
import type { ActorAddress } from '../model/address.ts';
import { notActive, readFailed, saveFailed } from '../model/errors.ts';
import { checkStateKey } from '../model/names.ts';
import type { TurnPart } from '../model/turn-changes.ts';
import type { ActiveActor } from '../turns/active-actor.ts';
import type { ActorStateLayout } from './layout.ts';
import type { StateOperation } from './parse-transaction.ts';
import { decodeActorValue, encodeActorValue } from './stored-value.ts';

/** A value that was found. */
export interface FoundActorValue {
  readonly key: string;
  /** JSON text. */
  readonly text: string;
  readonly expiresAt: number | undefined;
  readonly etag: string;
}

/** The state of an actor in code at the end of a turn. */
export interface TurnState {
  readonly key: string;
  /** `undefined` if the turn has not changed it. */
  readonly text: string | undefined;
  /** The version that the turn began with. */
  readonly version: Precondition['version'];
}

/** The dependencies of {@link ActorStates}. */
export interface ActorStatesDeps {
  readonly store: StateStore;
  readonly layout: ActorStateLayout;
  readonly owned: OwnedShards;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly work: Work;
  readonly findActive: (address: ActorAddress) => ActiveActor | undefined;
}

const NO_VALUE = Buffer.alloc(0);
/** Values in one answer of a list. */
const MAX_LISTED = 1_000;
/** A value that is written again and again has an entry for each of these by which its end is found. */
const STEP_MS = 60_000;

/** The state of actors: read by any host, written by the one where the actor is active, which the fence proves. */
export class ActorStates {
  readonly #deps: ActorStatesDeps;
  readonly #commits: CommitBatcher;
  readonly #sweep: ExpirySweep;

  constructor(deps: ActorStatesDeps) {
    const { store, clock, logger, work, layout, owned } = deps;
    this.#deps = deps;
    this.#commits = new CommitBatcher(store);
    this.#sweep = new ExpirySweep({
      ...{ store, clock, logger },
      track: () => work.begin('removing state of actors that has ended'),
      values: {
        range: layout.expiryRange,
        placeOf: (key) => layout.expiryOf(key),
        endOf: (key, { value }) => decodeActorValue(key, value).expiresAt,
        isOwn: (key) => owned.owns(layout.expiryOf(key).actor),
      },
    });
    owned.onChange(({ gained }) => gained.size > 0 && this.#sweep.start());
  }

  /** Begins to remove values that have ended; reads leave them out before that. */
  start(): void {
    this.#sweep.start();
  }

  /** The value of a key; `undefined` if there is none. */
  async get(address: ActorAddress, name: string): Promise<FoundActorValue | undefined> {
    checkStateKey(address, name);
    const key = this.#deps.layout.key(address, name);
    try {
      const entry = await this.#deps.store.get(key);
      return entry && this.#found({ ...entry, key });
    } catch (error) {
      throw readFailed(address, error);
    }
  }

  /** The values of an actor, in the order of their keys: at most 1,000. */
  async list(address: ActorAddress): Promise<readonly FoundActorValue[]> {
    const { store, layout } = this.#deps;
    try {
      const entries = await store.scan({ ...layout.rangeOf(address), limit: MAX_LISTED });
      return entries.flatMap((entry) => this.#found(entry) ?? []);
    } catch (error) {
      throw readFailed(address, error);
    }
  }

  #found({ key, value, version }: { key: string; value: Uint8Array; version: number }): FoundActorValue | undefined {
    const { key: name, text, expiresAt } = decodeActorValue(key, value);
    if (expiresAt !== undefined && expiresAt <= this.#deps.clock.now()) return undefined;
    return { key: name, text, expiresAt, etag: String(version) };
  }

  /**
   * Does all operations, in their order, or none.
   *
   * @throws SidecarError `ERR_ACTOR_INSTANCE_MISSING` if the actor is not active at this host,
   * `ERR_ACTOR_STATE_TRANSACTION_SAVE`
   */
  async transact(address: ActorAddress, operations: readonly StateOperation[]): Promise<void> {
    const actor = this.#deps.findActive(address);
    if (actor === undefined) throw notActive(address);
    if (operations.length === 0) return;
    const changes = await this.#planned(address, operations);
    try {
      await this.#commits.commit({ ...changes, fence: actor.fence() });
    } catch (error) {
      throw this.#refused(address, error);
    }
    for (const { expiresAt } of operations) if (expiresAt !== undefined) this.#sweep.expect(lookAt(expiresAt, STEP_MS));
  }

  async #planned(
    address: ActorAddress,
    operations: readonly StateOperation[],
  ): Promise<{
    readonly require: readonly Precondition[];
    readonly put: readonly Put[];
    readonly delete: readonly string[];
  }> {
    const { layout } = this.#deps;
    const last = new Map<string, StateOperation>();
    const require: Precondition[] = [];
    for (const operation of operations) {
      const { key: name, etag } = operation;
      const key = layout.key(address, name);
      if (etag !== undefined) require.push(await this.#preconditionOf(address, { key, name, etag }, last.has(key)));
      last.set(key, operation);
    }
    const put: Put[] = [];
    const removed: string[] = [];
    for (const [key, { key: name, kind, text, expiresAt }] of last) {
      if (kind === 'delete') removed.push(key);
      else put.push({ key, value: encodeActorValue({ key: name, text, expiresAt }) });
      if (kind === 'upsert' && expiresAt !== undefined)
        put.push({ key: layout.expiry(lookAt(expiresAt, STEP_MS), address, name), value: NO_VALUE });
    }
    return { require, put, delete: removed };
  }

  /** An operation needs the version that the value had before the transaction, and a value that has not ended. */
  async #preconditionOf(
    address: ActorAddress,
    { key, name, etag }: { readonly key: string; readonly name: string; readonly etag: string },
    isChanged: boolean,
  ): Promise<Precondition> {
    const present = isChanged ? undefined : await this.get(address, name);
    if (present?.etag !== etag) throw saveFailed(address, `the etag of key ${JSON.stringify(name)} does not match`);
    return { key, version: Number(etag) };
  }

  /**
   * Commits what a turn has changed: its state, if that has a new text, and further parts. Resolves with the version of
   * what it has put.
   *
   * @throws ConflictError when the state is not what the turn began with, or the actor belongs to another host.
   */
  async commitTurn(
    actor: Pick<ActiveActor, 'address' | 'fence'>,
    { key: name, text, version: before }: TurnState,
    part: TurnPart | undefined,
  ): Promise<number> {
    const key = this.#deps.layout.key(actor.address, name);
    const own = text === undefined ? [] : [{ key, value: encodeActorValue({ key: name, text, expiresAt: undefined }) }];
    const version = await this.#commits.commit({
      require: [{ key, version: before }, ...(part?.require ?? [])],
      put: [...own, ...(part?.put ?? [])],
      delete: part?.delete ?? [],
      fence: actor.fence(),
    });
    part?.committed(version);
    return version;
  }

  /** Why a commit was refused, for the caller. */
  #refused(address: ActorAddress, error: unknown): Error {
    if (this.isFenced(error)) return saveFailed(address, 'the actor belongs to another host now', error);
    if (isConflictError(error)) return saveFailed(address, 'an etag does not match', error);
    return saveFailed(address, isStateError(error) ? messageOf(error) : 'the state store failed', error);
  }

  /** Whether the store has refused a commit because the actor belongs to another host. */
  isFenced(error: unknown): boolean {
    return this.#deps.owned.isFenced(error);
  }

  /** Removes nothing more. Resolves when all that was asked for is written, or has failed. */
  async stop(): Promise<void> {
    await this.#sweep.stop();
    await this.#commits.flushed();
  }
}
