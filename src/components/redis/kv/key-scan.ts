import { isUtf8 } from 'node:buffer';
import type { KeyScanPage, ScannedKey } from '../../key-value.ts';
import type { RedisArgument } from '../driver.ts';
import type { Script } from '../scripts.ts';
import { SCAN } from './scripts.ts';

/** Keys that the server looks at in one go: it does nothing else meanwhile. */
const STEP = 250;
/** The most keys that are looked at for one page. Most may belong to other applications. */
const MAX_LOOKED_AT = 10_000;
/** The number of a slot of the node, and the server's cursor there. */
const CURSOR = /^(\d{1,5}):(\d{1,20})$/;
const SPECIAL = /[*?[\]^\\-]/g;
const ITEMS_PER_KEY = 4;

/** The dependencies of a {@link KeyScan}. */
export interface KeyScanDeps {
  /** Runs a script on the node of a slot. */
  readonly run: (slot: number, script: Script, args: readonly RedisArgument[]) => Promise<unknown>;
  /** The lowest slot of each node, in order. */
  readonly nodes: () => Promise<readonly number[]>;
}

/** Finds the keys of values by the server's cursor, on one node of a cluster after the other. */
export class KeyScan {
  readonly #deps: KeyScanDeps;

  constructor(deps: KeyScanDeps) {
    this.#deps = deps;
  }

  /** `undefined` for a cursor that is none. */
  async page(
    prefix: string,
    { cursor: from = '0:0', limit }: { readonly cursor?: string; readonly limit: number },
  ): Promise<KeyScanPage | undefined> {
    const [, first = '', second = ''] = CURSOR.exec(from) ?? [];
    if (first === '') return undefined;
    const { run, nodes } = this.#deps;
    const slots = await nodes();
    const pattern = `${prefix.replace(SPECIAL, '\\$&')}*`;
    const keys = new Map<string, ScannedKey>();
    let [node, cursor] = [Number(first), second];
    for (let lookedAt = 0; lookedAt < MAX_LOOKED_AT && keys.size < limit; lookedAt += STEP) {
      const found = await run(node, SCAN, [cursor, pattern, String(STEP)]);
      cursor = this.#collect(found as Found, keys);
      if (cursor !== '0') continue;
      const next = slots.find((slot) => slot > node);
      if (next === undefined) return { keys: [...keys.values()] };
      node = next;
    }
    return { keys: [...keys.values()], cursor: `${node}:${cursor}` };
  }

  #collect([next, ...found]: Found, keys: Map<string, ScannedKey>): string {
    for (let at = 0; at < found.length; at += ITEMS_PER_KEY) {
      const [name, bytes, etag, expiresAt] = found.slice(at, at + ITEMS_PER_KEY);
      // No request can name another one.
      if (!(name instanceof Buffer) || !isUtf8(name)) continue;
      const key = name.toString();
      const scanned = { key, bytes: Number(bytes), etag: etag?.toString() };
      keys.set(key, expiresAt ? { ...scanned, expiresAt: Number(expiresAt) } : scanned);
    }
    return String(next);
  }
}

/** The reply to {@link SCAN}. */
type Found = readonly (Buffer | number | null)[];
