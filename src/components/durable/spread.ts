import { assignment } from '../../cluster/shards.ts';
import { PARTITION_COUNT } from './partitions.ts';

/** Which hosts hand out the messages of which partitions, by the IDs of the hosts. */
export type Spread = ReadonlyMap<string, ReadonlySet<number>>;

/** All partitions. */
export const ALL_PARTITIONS: ReadonlySet<number> = new Set(Array.from({ length: PARTITION_COUNT }, (_, at) => at));

export const NO_PARTITIONS: ReadonlySet<number> = new Set();

/** How a spread is stored. */
export type StoredSpread = readonly (readonly [hostId: string, partitions: readonly number[]])[];

export function readSpread(stored: StoredSpread): Spread {
  return new Map(stored.map(([hostId, partitions]) => [hostId, new Set(partitions)]));
}

export function storedSpread(spread: Spread): StoredSpread {
  return [...spread].map(([hostId, partitions]) => [hostId, [...partitions]]);
}

/** What decides on a spread. */
export interface SpreadView {
  readonly spread: Spread;
  /** This host. */
  readonly id: string;
  readonly isLive: (hostId: string) => boolean;
  /** The live hosts that have consumers. */
  readonly members: readonly string[];
  /** Whether one host has to have all partitions. */
  readonly isTogether: boolean;
  /** The host that needs all partitions for a while, if there is one. */
  readonly collector: string | undefined;
}

/** The hosts that are to have the partitions; `undefined` for none. All hosts that see the same compute the same. */
export function targetsOf(view: SpreadView): readonly (string | undefined)[] {
  const { members, collector, isTogether } = view;
  if (collector === undefined && !isTogether && members.length > 0) return assignment(members);
  const only = collector ?? largestOf(view);
  return Array.from({ length: PARTITION_COUNT }, () => only);
}

/** The member that has most partitions: few have to move. */
function largestOf({ members, spread }: SpreadView): string | undefined {
  const sizeOf = (id: string): number => spread.get(id)?.size ?? 0;
  const [largest] = [...members].sort((one, other) => sizeOf(other) - sizeOf(one) || (one < other ? -1 : 1));
  return largest;
}

/** The partitions of this host that are to go to others, or to nobody. */
export function leavingOf(view: SpreadView, targets: readonly (string | undefined)[]): ReadonlySet<number> {
  const own = view.spread.get(view.id) ?? NO_PARTITIONS;
  return new Set([...own].filter((partition) => targets[partition] !== view.id));
}

/**
 * The next spread: partitions that this host has released, that nobody has, or whose host is dead go to their targets.
 * All others stay: their hosts release them first.
 */
export function nextSpread(
  view: SpreadView,
  targets: readonly (string | undefined)[],
  released: ReadonlySet<number>,
): Spread {
  const owners = ownersOf(view.spread);
  const next = new Map<string, Set<number>>();
  for (const [partition, target] of targets.entries()) {
    const owner = owners.get(partition);
    const isFree = owner === undefined || !view.isLive(owner) || (owner === view.id && released.has(partition));
    const to = isFree ? target : owner;
    if (to === undefined) continue;
    const partitions = next.get(to);
    if (partitions === undefined) next.set(to, new Set([partition]));
    else partitions.add(partition);
  }
  return next;
}

function ownersOf(spread: Spread): ReadonlyMap<number, string> {
  const owners = new Map<number, string>();
  for (const [hostId, partitions] of spread) for (const partition of partitions) owners.set(partition, hostId);
  return owners;
}

export function isSameSpread(one: Spread, other: Spread): boolean {
  const isIn = ([hostId, partitions]: readonly [string, ReadonlySet<number>]): boolean => {
    const others = other.get(hostId) ?? NO_PARTITIONS;
    return others.size === partitions.size && [...partitions].every((partition) => others.has(partition));
  };
  return one.size === other.size && [...one].every(isIn);
}
