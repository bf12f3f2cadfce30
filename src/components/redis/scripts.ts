import { createHash } from 'node:crypto';

/** A script that Redis runs atomically. */
export interface Script {
  readonly text: string;
  /** Identifies the script to Redis once it has run. */
  readonly sha1: string;
}

export function script(text: string): Script {
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}

/** Max arguments of one command, which may be pairs: Lua passes a function at most some 8,000. */
const PART = 1_000;

/** The format of the keys. A release reads and writes keys whose `min_reader` is not above its own. */
export const FORMAT = 1;

/*
 * KEYS: 1 meta (a hash), 2 the sorted set of keys (score 0: byte order), 3 the hash of versions, 4 the hash of values,
 * 5 the name prefix of sessions (hashes). All share one hash tag, so that they are on one node of a cluster.
 */

/**
 * Returns the format that a reader must know; writes this release's format if there is none. Writes nothing else, since
 * a full server must let a store be read.
 */
export const CHECK_FORMAT: Script = script(`
local found = redis.call('HGET', KEYS[1], 'min_reader')
if found then return found end
redis.call('HSET', KEYS[1], 'format', ARGV[1], 'min_reader', ARGV[1])
return ARGV[1]`);

/**
 * The number is at least the seconds since 2025: after a failover that lost the last numbers, the next one is greater
 * than them.
 */
export const OPEN_SESSION: Script = script(`
local last = tonumber(redis.call('HGET', KEYS[1], 'last_session') or '0')
local number = string.format('%.0f', math.max(last + 1, tonumber(redis.call('TIME')[1]) - 1735689600))
redis.call('HSET', KEYS[1], 'last_session', number)
redis.call('HSET', KEYS[5] .. ':' .. number, 'group', '0')
redis.call('EXPIRE', KEYS[5] .. ':' .. number, 604800)
return number`);

/**
 * Returns the last group of a session and the answer to it; the session accepts no more groups. It is kept for a week,
 * because the reply to this script may be lost as well.
 */
export const CLOSE_SESSION: Script = script(`
local session = KEYS[5] .. ':' .. ARGV[1]
local found = redis.call('HMGET', session, 'group', 'refused')
if not found[1] then return {'0', ''} end
redis.call('HSET', session, 'closed', '1')
return {found[1], found[2] or ''}`);

/**
 * Writes a group of batches, or nothing: returns the keys whose precondition does not hold, and none once all is
 * written. The caller sends the group again without the batches that these keys refuse, and with those of earlier calls
 * as `refused`, kept for CLOSE_SESSION.
 *
 * ARGV: session, number of the group, refused, counts of preconditions, puts and deletes; then, packed, the keys of the
 * preconditions and their versions ('' for absent); the score and key of each put, key and version, key and value; the
 * keys to delete. Checks all before it writes, since Redis has no rollback. A command gets many keys, as they lie in the
 * list: a call costs more than a key does, and so does each entry that the script would move.
 */
export const COMMIT: Script = script(`
local session, number = KEYS[5] .. ':' .. ARGV[1], ARGV[2]
local requires, puts, deletes = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local last = redis.call('HMGET', session, 'group', 'closed')
if not last[1] or last[2] or tonumber(last[1]) >= tonumber(number) then
  return redis.error_reply('SESSIONCLOSED the session is closed')
end
local items = cmsgpack.unpack(ARGV[7])
local failed = {}
for first = 1, requires, ${PART} do
  local upTo = math.min(first + ${PART - 1}, requires)
  local found = redis.call('HMGET', KEYS[3], unpack(items, first, upTo))
  for i = first, upTo do
    if (found[i - first + 1] or '') ~= items[requires + i] then failed[#failed + 1] = items[i] end
  end
end
if #failed > 0 then return failed end
redis.call('HSET', session, 'group', number, 'refused', ARGV[3])
redis.call('EXPIRE', session, 604800)
local function call(command, key, from, count)
  for first = from, from + count - 1, ${PART} do
    redis.call(command, key, unpack(items, first, math.min(first + ${PART - 1}, from + count - 1)))
  end
  return from + count
end
local at = 2 * requires + 1
at = call('ZADD', KEYS[2], at, 2 * puts)
at = call('HSET', KEYS[3], at, 2 * puts)
at = call('HSET', KEYS[4], at, 2 * puts)
call('ZREM', KEYS[2], at, deletes)
call('HDEL', KEYS[3], at, deletes)
call('HDEL', KEYS[4], at, deletes)
return failed`);

/** Returns version and value of each key, or nothing. */
export const GET: Script = script(`
local found = {}
for i, key in ipairs(ARGV) do
  local version = redis.call('HGET', KEYS[3], key)
  found[2 * i - 1] = version
  found[2 * i] = version and redis.call('HGET', KEYS[4], key)
end
return found`);

/**
 * Returns key, version and value of the entries in a range. ARGV: both bounds in the form of ZRANGEBYLEX, whether
 * backwards, max entries (-1: all), the bytes after which to end (-1: never). Reads no more entries than it returns.
 */
export const SCAN: Script = script(`
local from, to, reverse, most, max = ARGV[1], ARGV[2], ARGV[3] == '1', tonumber(ARGV[4]), tonumber(ARGV[5])
local found, entries, bytes, offset = {}, 0, 0, 0
while true do
  local page = 256
  if most >= 0 then page = math.min(page, most - entries) end
  local keys
  if reverse then keys = redis.call('ZREVRANGEBYLEX', KEYS[2], to, from, 'LIMIT', offset, page)
  else keys = redis.call('ZRANGEBYLEX', KEYS[2], from, to, 'LIMIT', offset, page) end
  for _, key in ipairs(keys) do
    local value = redis.call('HGET', KEYS[4], key)
    local n = #found
    found[n + 1], found[n + 2], found[n + 3] = key, redis.call('HGET', KEYS[3], key), value
    entries = entries + 1
    bytes = bytes + #value
    if max >= 0 and bytes >= max then return found end
  end
  if #keys < page or (most >= 0 and entries >= most) then return found end
  if reverse then to = '(' .. keys[#keys] else from = '(' .. keys[#keys] end
end`);

/** Returns how many entries there are in a range. ARGV: both bounds in the form of ZLEXCOUNT. */
export const COUNT: Script = script(`return redis.call('ZLEXCOUNT', KEYS[2], ARGV[1], ARGV[2])`);
