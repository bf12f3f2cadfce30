import type { OwnedShard } from '../../../kernel/owned-shards.ts';
import type { Precondition } from '../../../state/store.ts';
import type { Link } from '../../../util/linked.ts';
import type { ActorAddress } from '../model/address.ts';
import type { ActorSettings } from '../model/configuration.ts';
import { tooDeep, tooManyWaiting } from '../model/errors.ts';
import { TurnLine } from './turn-line.ts';

const MAX_WAITING = 10_000;

/** An actor that is active at this host: from its first turn until its deactivation has ended. */
export class ActiveActor {
  readonly address: ActorAddress;
  readonly shard: OwnedShard;
  readonly settings: ActorSettings;
  readonly line: TurnLine;
  /** Aborted when the actor is to end what it does: it moves, or the sidecar stops. */
  readonly ending: AbortController = new AbortController();
  /** Its object, of an actor in code. */
  instance: object | undefined;
  /** Set while it is being deactivated: resolves when it is inactive. */
  closed: Promise<void> | undefined;
  /** Whether the application has lost its object: the actor becomes inactive without being told. */
  isForgotten = false;
  /** Its place among the idle actors of its type, and since when it is there. */
  idle: Link<ActiveActor> | undefined;
  idleSince = 0;
  readonly #tenure: Precondition | undefined;

  constructor(address: ActorAddress, shard: OwnedShard, settings: ActorSettings) {
    this.address = address;
    this.shard = shard;
    this.settings = settings;
    this.#tenure = shard.tenure;
    this.line = new TurnLine({
      maxStackDepth: settings.maxStackDepth,
      maxWaiting: MAX_WAITING,
      tooDeep: () => tooDeep(address, settings.maxStackDepth ?? 0),
      tooManyWaiting: () => tooManyWaiting(address, MAX_WAITING),
    });
  }

  /**
   * The precondition of its commits: no other host has had its shard since it became active. A host that stood still may
   * have lost the shard and got it back, and what its actors know is older than what is stored.
   *
   * @throws ConflictError when this host does not own the shard.
   */
  fence(): Precondition | undefined {
    return this.shard.fence() && this.#tenure;
  }
}
