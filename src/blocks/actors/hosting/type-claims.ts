import type { HostRecord, HostTable } from '../../../cluster/hosts.ts';
import { SidecarError } from '../../../errors.ts';
import { type Clock, sleep } from '../../../util/clock.ts';
import type { Logger } from '../../../util/logger.ts';
import type { HostedTypes } from './hosted-types.ts';

/** How often it is looked whether a refused type has become free. */
const RETRY_MS = 5_000;

/** The hosts of the store, and the record of this one. */
export interface ClaimRegistry {
  readonly id: string;
  hosts(): Promise<HostTable>;
}

/** The dependencies of {@link TypeClaims}. */
export interface TypeClaimsDeps {
  readonly appId: string;
  readonly namespace: string;
  /** The prefix of types that applications cannot host. */
  readonly reservedPrefix: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: ClaimRegistry;
  readonly types: HostedTypes;
  /** Writes the types into the record of this host. */
  readonly publish: (types: readonly string[]) => Promise<void>;
  /** Other hosts of the application have other types. */
  readonly onMismatch: (error: SidecarError) => void;
}

/**
 * Sees that a type belongs to one application ID: the first live one has it, for others it is refused until that is
 * gone. Hosts of one application have to have the same types, since each of them gets its part of the actors.
 */
export class TypeClaims {
  readonly #deps: TypeClaimsDeps;
  readonly #stopping = new AbortController();
  /** Types that this host has in the store. */
  #held: ReadonlySet<string> = new Set();
  #claiming: Promise<void> = Promise.resolve();

  constructor(deps: TypeClaimsDeps) {
    this.#deps = deps;
  }

  /** @throws SidecarError `ERR_CONFIGURATION` if other hosts of this application have other types */
  async checkAtStart(): Promise<void> {
    const { types, registry } = this.#deps;
    if (types.declared.length === 0) return;
    // A store that does not work is not waited for here.
    const table = await registry.hosts().catch(() => undefined);
    const mismatch = table && this.mismatchWith(table, types.declared);
    if (mismatch !== undefined) throw mismatch;
  }

  /** Claims the types that are hosted here. Never rejects; one at a time. */
  claim(): Promise<void> {
    this.#claiming = this.#claiming.then(async () => {
      if (this.#stopping.signal.aborted) return;
      try {
        await this.#claim();
      } catch (error) {
        this.#deps.logger.error({ error }, 'the actor types of this host could not be claimed: will be tried again');
        this.#retryLater();
      }
    });
    return this.#claiming;
  }

  stop(): void {
    this.#stopping.abort(new Error('the sidecar is stopping'));
  }

  async #claim(): Promise<void> {
    const { types, registry, publish } = this.#deps;
    const wanted = types.declared;
    const table = await registry.hosts();
    const mismatch = this.mismatchWith(table, wanted);
    if (mismatch !== undefined) return this.#deps.onMismatch(mismatch);
    const before = this.#refuse(
      wanted.filter((type) => !this.#held.has(type) && this.#ownerOf(table, type) !== undefined),
    );
    if (this.#stopping.signal.aborted) return;
    await publish(types.names);
    // Another application may have claimed one at the same moment: both see it now, and the same one gives way.
    const fresh = types.names.filter((type) => !this.#held.has(type));
    if (fresh.length > 0) {
      const after = await registry.hosts();
      const own = after.hosts.find(({ id }) => id === registry.id);
      const lost = fresh.filter((type) => {
        const other = this.#ownerOf(after, type);
        return other !== undefined && own !== undefined && precedes(other, own);
      });
      if (lost.length > 0) {
        this.#refuse([...before, ...lost]);
        await publish(types.names);
      }
    }
    this.#held = new Set(types.names);
    if (types.refused.size > 0) this.#retryLater();
  }

  /** Refuses types, and tells of those that are new among them. */
  #refuse(refused: readonly string[]): readonly string[] {
    const { types, logger, appId } = this.#deps;
    const news = refused.filter((type) => !types.refused.has(type));
    types.refuse(new Set(refused));
    if (news.length > 0)
      logger.error(
        { actorTypes: news, appId },
        'actor types are hosted by another application already: they are refused here until that is gone',
      );
    return refused;
  }

  #ownerOf({ hosts }: HostTable, type: string): HostRecord | undefined {
    const { appId, namespace } = this.#deps;
    return hosts.find((host) => host.appId !== appId && host.namespace === namespace && host.actorTypes.includes(type));
  }

  /** The error if a live host of this application has other types. */
  mismatchWith({ hosts }: HostTable, wanted: readonly string[]): SidecarError | undefined {
    const { appId, namespace, registry, reservedPrefix } = this.#deps;
    if (wanted.length === 0) return undefined;
    for (const host of hosts) {
      if (host.id === registry.id || host.appId !== appId || host.namespace !== namespace) continue;
      const theirs = host.actorTypes.filter((type) => !type.startsWith(reservedPrefix));
      const expected = wanted.filter((type) => !this.#deps.types.refused.has(type));
      if (theirs.length === 0 || theirs.join('\n') === expected.join('\n')) continue;
      return new SidecarError(
        'ERR_CONFIGURATION',
        `this host of ${appId} has the actor types ${expected.join(', ')}, and host ${host.id}${host.address === undefined ? '' : ` (${host.address})`} has ${theirs.join(', ')}: all hosts of an application have to have the same types`,
      );
    }
    return undefined;
  }

  #retryLater(): void {
    sleep(this.#deps.clock, RETRY_MS, this.#stopping.signal).then(
      () => void this.claim(),
      () => undefined,
    );
  }
}

function precedes(one: HostRecord, other: HostRecord): boolean {
  return one.updatedAt < other.updatedAt || (one.updatedAt === other.updatedAt && one.appId < other.appId);
}
