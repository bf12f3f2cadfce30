import type { UnlockOutcome } from '../../components/lock-store.ts';
import { messageOf, SidecarError } from '../../errors.ts';
import type { Duration } from '../../util/duration.ts';
import { parseDurationOption } from '../../util/duration-option.ts';
import { checkFields, fieldNames } from '../../util/known-fields.ts';
import { invalidArgument } from '../../util/option-fields.ts';
import { shown } from '../../util/shown.ts';
import { inCode } from '../in-code.ts';
import type { LockService } from './lock-service.ts';
import { checkLockName, type LockName, MAX_EXPIRY_SECONDS } from './parse-lock.ts';

/** Options of {@link Locks.tryLock}. @public */
export interface LockOptions {
  /**
   * After this time the lock is free, even if it was not released: longer than the work takes. Rounded up to whole
   * seconds.
   */
  readonly ttl: Duration;
  /** The owner of the lock; should be unique for each attempt. At most 256 bytes. Default: a generated ID. */
  readonly owner?: string | undefined;
}

/** A lock that is held; leaving the scope of `await using` releases it. @public */
export interface Lock extends AsyncDisposable {
  /** The locked resource. */
  readonly resource: string;
  /** The owner of the lock. */
  readonly owner: string;
  /** When the lock expires, in milliseconds since 1970, at the earliest. */
  readonly expiresAt: number;
  /**
   * Releases the lock. Returns whether it was still held: `false` means that it has expired, and the work may have
   * overlapped with that of another holder.
   *
   * @throws SidecarError `ERR_UNLOCK` when the store fails; the lock then ends by its expiry.
   */
  unlock(): Promise<boolean>;
}

const OPTIONS = fieldNames<LockOptions>({ ttl: true, owner: true });

/**
 * Locks that several processes share: of several that try at the same time, one gets the lock. A lock ends by its
 * release or its expiry. It outlives the process that has taken it.
 *
 * @example
 * ```ts
 * await using lock = await sidecar.locks.tryLock('locks', 'report-2026', { ttl: '30s' });
 * if (lock === undefined) return; // somebody else is at it
 * console.log(`held until ${new Date(lock.expiresAt).toISOString()}`);
 * ```
 * @public
 */
export class Locks {
  readonly #service: LockService;

  /** @internal */
  constructor(service: LockService) {
    this.#service = service;
  }

  /**
   * Takes a lock if it is free, without waiting; `undefined` if it is held, also by the same owner.
   *
   * @param store - the name of the lock store
   * @param resource - what is locked: a text of at most 512 bytes, without `||`
   * @throws SidecarError `ERR_LOCK_STORE_NOT_FOUND`, `ERR_LOCK_STORE_NOT_CONFIGURED`; `ERR_INVALID_ARGUMENT` for a
   * resource, an owner or options that cannot be; `ERR_TRY_LOCK` when the store fails:
   * the lock may then be held until its expiry.
   */
  async tryLock(store: string, resource: string, options: LockOptions): Promise<Lock | undefined> {
    checkFields(options, OPTIONS, 'options of tryLock');
    const named = this.#service.find(store);
    const { clock, newId } = this.#service.deps;
    const owner = options.owner ?? newId();
    checkNames({ resource, owner }, 'options.owner');
    const expiryMs = expiryMsOf(options.ttl);
    // Before the call: the lock may be as old as that.
    const expiresAt = clock.now() + expiryMs;
    if (!(await this.#service.tryLock(named, { resource, owner, expiryMs }))) return undefined;
    let isReleased = false;
    const unlock = async (): Promise<boolean> => {
      const outcome = await this.#service.unlock(named, { resource, owner });
      isReleased = true;
      return outcome === 'released';
    };
    const release = async (): Promise<void> => {
      if (!isReleased) await this.#release(store, resource, unlock);
    };
    return { resource, owner, expiresAt, unlock, [Symbol.asyncDispose]: release };
  }

  /**
   * Releases a lock if the owner holds it. Returns the outcome: `released`; `missing`, the lock is free; `foreign`,
   * another owner holds it.
   *
   * @throws SidecarError as {@link Locks.tryLock} does, `ERR_UNLOCK` when the store fails.
   */
  async unlock(store: string, resource: string, owner: string): Promise<UnlockOutcome> {
    const named = this.#service.find(store);
    checkNames({ resource, owner }, 'owner');
    return this.#service.unlock(named, { resource, owner });
  }

  /** The work is done: that the lock could not be released is no error of the work. */
  async #release(store: string, resource: string, unlock: () => Promise<boolean>): Promise<void> {
    const { logger } = this.#service.deps;
    try {
      if (!(await unlock())) logger.warn({ store, resource }, 'a lock had expired before it was released');
    } catch (error) {
      logger.warn({ store, resource, error }, 'a lock could not be released: it ends by its expiry');
    }
  }
}

/** @throws SidecarError `ERR_INVALID_ARGUMENT`. */
function checkNames(name: LockName, owner: 'owner' | 'options.owner'): void {
  try {
    checkLockName(name);
  } catch (error) {
    // The words of the API are resourceId and lockOwner.
    throw inCode(error, messageOf(error).includes('lockOwner') ? owner : 'resource');
  }
}

function expiryMsOf(ttl: Duration): number {
  const seconds = Math.ceil(
    parseDurationOption('ttl', ttl, (problem) => invalidArgument(problem, 'options.ttl')) / 1_000,
  );
  if (seconds >= 1 && seconds <= MAX_EXPIRY_SECONDS) return seconds * 1_000;
  const expected = `more than 0 and at most ${MAX_EXPIRY_SECONDS} seconds`;
  throw new SidecarError('ERR_INVALID_ARGUMENT', `ttl is ${shown(ttl)}: expected ${expected}`, {
    argument: 'options.ttl',
  });
}
