import type { SlotLimit } from '../util/run-limits.ts';
import { gathered, type UsedInstants } from './used-instants.ts';

/** What a host has of a limit. */
export interface HostSlots extends SlotLimit {
  readonly id: string;
  /** How many slots it has: it alone gives them away, unless it is dead. */
  readonly held: number;
  /** How many it needs, as far as that matters to others. */
  readonly wants: number;
}

/** How the slots of a limit are divided, as it is stored. */
export interface SlotRecord {
  /** In the order in which they get slots when there are fewer slots than hosts. */
  readonly hosts: readonly HostSlots[];
  /** Slots of a rate that no host has, since they have been used. */
  readonly used: UsedInstants;
}

/** The state of this host. */
export interface OwnSlots extends SlotLimit {
  readonly id: string;
  /** Slots in use. */
  readonly busy: number;
  /** The runs that have a slot or wait for one. */
  readonly wants: number;
  /** When the busy slots of a rate were used, by the wall clock. */
  readonly usedAt: readonly number[];
}

/** What this host knows of the others. */
export interface SlotView {
  readonly now: number;
  readonly isLive: (id: string) => boolean;
  /** Whether a slot of this host has just become free: then it is the turn of a host that has none. */
  readonly isEnd: boolean;
}

/** A new division of slots. */
export interface SlotPlan extends SlotRecord {
  readonly held: number;
  /** How many of the used slots this host gives away to rest in the record. */
  readonly rested: number;
  /** Hosts that must be dead. */
  readonly gone: readonly string[];
}

/**
 * Of a rate over a longer time a host takes a tenth at once, and leaves what it has used in the record, so that a crash
 * costs no more than that. Of others it takes as many as there are, so that the record need not be written again.
 */
const LONG_MS = 60_000;

export const NO_SLOTS: SlotRecord = { hosts: [], used: [] };

/** The limit that holds: the lowest one of those that hosts have. */
export function lowestOf(limits: readonly SlotLimit[]): SlotLimit {
  const [first, ...rest] = limits;
  if (first === undefined) throw new Error('a limit of no host was asked for');
  return rest.reduce((lowest, limit) => (isLower(limit, lowest) ? limit : lowest), first);
}

function isLower(one: SlotLimit, other: SlotLimit): boolean {
  const [rate, otherRate] = [one.max / (one.perMs ?? 1), other.max / (other.perMs ?? 1)];
  return rate < otherRate || (rate === otherRate && one.max < other.max);
}

/** How the slots are to be divided; `undefined` if nothing is to be written. */
export function planSlots(record: SlotRecord, own: OwnSlots, { now, isLive, isEnd }: SlotView): SlotPlan | undefined {
  const isHere = ({ id }: HostSlots): boolean => id === own.id || isLive(id);
  const present = record.hosts.filter(isHere);
  const gone = record.hosts.filter((host) => !isHere(host));
  const limit = lowestOf([own, ...present.filter(({ id }) => id !== own.id)]);
  const { max, perMs = 0 } = limit;
  const stored = present.find(({ id }) => id === own.id);
  const held = stored?.held ?? 0;
  const rested = perMs > LONG_MS ? Math.min(own.usedAt.length, held) : 0;
  const lost = gone.flatMap((host) => (perMs > 0 && host.held > 0 ? [[now, host.held] as const] : []));
  const rest = rested > 0 ? gathered(own.usedAt.slice(-rested)) : [];
  const used = [...record.used, ...rest, ...lost].filter(([at]) => at + perMs > now);
  const wants = Math.min(own.wants - rested, max);
  const me = { id: own.id, max: own.max, perMs: own.perMs, held: held - rested, wants };
  const hosts = stored === undefined ? [...present, me] : present.map((host) => (host === stored ? me : host));
  const free = max - used.reduce((sum, [, count]) => sum + count, 0);
  const divided = divide(hosts, me, { max, free, busy: own.busy - rested, isEnd, batch: batchOf(limit, hosts.length) });
  const mine = divided.find(({ id }) => id === own.id) ?? me;
  const isDivided = divided.some(({ id, held: after }) => hosts.find((host) => host.id === id)?.held !== after);
  const isNeedier = wants > mine.held && wants > (stored?.wants ?? 0);
  const isOther = stored !== undefined && (stored.max !== own.max || stored.perMs !== own.perMs);
  if (!(isDivided || isNeedier || isOther) && gone.length === 0) return undefined;
  const kept = divided.filter((host) => host.held > 0 || host.wants > 0);
  return { hosts: kept, used, held: mine.held, rested, gone: gone.map(({ id }) => id) };
}

/** How many slots a host takes at least when it lacks one. */
function batchOf({ max, perMs = 0 }: SlotLimit, hostCount: number): number {
  if (perMs > LONG_MS) return Math.ceil(max / 10);
  return hostCount > 1 ? 0 : max;
}

interface Division {
  readonly max: number;
  /** The slots that hosts have or may have: those that do not rest. */
  readonly free: number;
  /** Slots that this host cannot give away now. */
  readonly busy: number;
  readonly isEnd: boolean;
  readonly batch: number;
}

/** Gives hosts what they lack: first what no host has, then what this host has and does not use. */
function divide(
  hosts: readonly HostSlots[],
  me: HostSlots,
  { max, free, busy, isEnd, batch }: Division,
): readonly HostSlots[] {
  const line = inTurn(hosts, me, { max, isNext: isEnd && me.held > busy });
  const targets = sharesOf(line, max);
  const lackOf = (host: HostSlots, index: number): number => Math.max(0, (targets[index] ?? 0) - host.held);
  const lacking = line.reduce((sum, host, index) => sum + lackOf(host, index), 0);
  let left = free - line.reduce((sum, { held }) => sum + held, 0);
  const own = line.indexOf(me);
  const surplus = me.held - Math.max(busy, targets[own] ?? 0);
  const given = Math.max(0, Math.min(surplus, lacking - left));
  left += given;
  const isLacking = lackOf(me, own) > 0;
  const divided = line.map((host, index) => {
    const more = Math.max(0, Math.min(lackOf(host, index), left));
    left -= more;
    return { ...host, held: host.held + more - (host === me ? given : 0) };
  });
  const more = isLacking ? Math.min(left, batch - (divided[own]?.held ?? 0) + me.held) : 0;
  return more > 0
    ? divided.map((host, index) => (index === own ? { ...host, held: host.held + more } : host))
    : divided;
}

/** This host goes to the end of the line when it has used a slot and another one has none and would get none. */
function inTurn(
  hosts: readonly HostSlots[],
  me: HostSlots,
  { max, isNext }: { readonly max: number; readonly isNext: boolean },
): readonly HostSlots[] {
  if (!isNext) return hosts;
  const shares = sharesOf(hosts, max);
  const isPassedOver = (host: HostSlots, index: number): boolean =>
    host !== me && host.wants > 0 && host.held === 0 && shares[index] === 0;
  return hosts.some(isPassedOver) ? [...hosts.filter((host) => host !== me), me] : hosts;
}

/** As even as the hosts' wants allow; what cannot be divided goes to the first ones. */
function sharesOf(hosts: readonly HostSlots[], max: number): readonly number[] {
  const shares = hosts.map(() => 0);
  let left = max;
  for (;;) {
    const open = hosts.flatMap(({ wants }, index) => (wants > (shares[index] ?? 0) ? [index] : []));
    if (open.length === 0 || left === 0) return shares;
    const each = Math.max(1, Math.floor(left / open.length));
    for (const index of open) {
      const more = Math.min(each, (hosts[index]?.wants ?? 0) - (shares[index] ?? 0), left);
      shares[index] = (shares[index] ?? 0) + more;
      left -= more;
    }
  }
}
