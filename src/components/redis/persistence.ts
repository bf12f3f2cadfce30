import type { StateDurability } from '../../state/store.ts';
import type { FoundDurability } from '../remote/durability.ts';
import type { RedisClient } from './driver.ts';

const BY_SYNC: Readonly<Record<string, StateDurability>> = { always: 'synced', everysec: 'second', no: 'none' };

/** What a server's settings promise; `info` is its reply to `INFO`. */
export async function durabilityOf(client: RedisClient, info: string): Promise<FoundDurability> {
  if (fieldOf(info, 'aof_enabled') === '0') return { durability: 'none', reason: 'appendonly is no' };
  const sync = await appendFsync(client);
  if (sync === undefined) return { durability: 'unknown', reason: 'CONFIG GET appendfsync is not allowed' };
  return { durability: BY_SYNC[sync] ?? 'unknown', reason: `appendfsync is ${sync}` };
}

/** `undefined` if the user may not read it, as on many hosted servers. */
async function appendFsync(client: RedisClient): Promise<string | undefined> {
  try {
    const reply = await client.sendCommand(['CONFIG', 'GET', 'appendfsync']);
    const value: unknown = Array.isArray(reply) ? reply[1] : Object(reply)['appendfsync'];
    return value === undefined ? undefined : String(value);
  } catch (error) {
    if (/^(NOPERM|ERR)\b/.test((error as Error).message)) return undefined;
    throw error;
  }
}

/** The value of a field in a reply to `INFO`. */
export function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
