import type { StateDurability } from '../../state/store.ts';
import type { FoundDurability } from '../remote/durability.ts';
import type { RedisClient } from './driver.ts';

const BY_SYNC: Readonly<Record<string, StateDurability>> = { always: 'synced', everysec: 'second', no: 'none' };

/** The durability that a server's settings promise; `info` is its reply to `INFO`. */
export async function durabilityOf(client: RedisClient, info: string): Promise<FoundDurability> {
  if (fieldOf(info, 'aof_enabled') === '0') return { durability: 'none', reason: 'appendonly is no' };
  const sync = await settingOf(client, 'appendfsync');
  if (sync === undefined) return unreadable('appendfsync');
  if (sync !== 'no') {
    // With `yes`, Redis syncs nothing while it writes a snapshot or rewrites its log.
    const pauses = await settingOf(client, 'no-appendfsync-on-rewrite');
    if (pauses === undefined) return unreadable('no-appendfsync-on-rewrite');
    if (pauses === 'yes') return { durability: 'none', reason: 'no-appendfsync-on-rewrite is yes' };
  }
  return { durability: BY_SYNC[sync] ?? 'unknown', reason: `appendfsync is ${sync}` };
}

function unreadable(name: string): FoundDurability {
  return { durability: 'unknown', reason: `CONFIG GET ${name} is not allowed` };
}

/** `undefined` if the user may not read it, as on many hosted servers. Redis 6.2 takes one name at a time. */
async function settingOf(client: RedisClient, name: string): Promise<string | undefined> {
  try {
    const reply = await client.sendCommand(['CONFIG', 'GET', name]);
    const value: unknown = Array.isArray(reply) ? reply[1] : Object(reply)[name];
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
