/** An item that an index finds by its name. */
export interface Indexed {
  readonly name: string;
  /** The next one with the same hash. */
  nextOfHash: Indexed | undefined;
}

const SLOTS = 16_384;
/** Names differ in their ends, such as UUIDs. */
const HASHED_LENGTH = 40;

/**
 * Finds what has a name, the newest first. Not a Map of lists: thousands come and go in a second, and the tables of such
 * a Map keep what has gone alive (see `util/linked.ts`).
 */
export class NameIndex<T extends Indexed> {
  #slots: (Indexed | undefined)[] = [];

  add(one: T): void {
    if (this.#slots.length === 0) this.#slots = Array.from({ length: SLOTS }, () => undefined);
    const slot = slotOf(one.name);
    one.nextOfHash = this.#slots[slot];
    this.#slots[slot] = one;
  }

  remove(one: T): void {
    const slot = slotOf(one.name);
    let before: Indexed | undefined;
    let at = this.#slots[slot];
    while (at !== undefined && at !== one) {
      before = at;
      at = at.nextOfHash;
    }
    if (at === undefined) return;
    if (before === undefined) this.#slots[slot] = one.nextOfHash;
    else before.nextOfHash = one.nextOfHash;
    one.nextOfHash = undefined;
  }

  /** The newest of a name for which the condition holds. */
  find(name: string, isMeant: (one: T) => boolean): T | undefined {
    for (let at = this.#slots[slotOf(name)] as T | undefined; at !== undefined; at = at.nextOfHash as T | undefined)
      if (at.name === name && isMeant(at)) return at;
    return undefined;
  }

  clear(): void {
    this.#slots = [];
  }
}

/** FNV-1a. */
function slotOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = Math.max(0, name.length - HASHED_LENGTH); at < name.length; at++)
    hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 15)) & (SLOTS - 1);
}
