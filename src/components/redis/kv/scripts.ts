import { type Script, script } from '../scripts.ts';

/** Answers of a script in place of an ETag: the operation was refused, or skipped. */
export const REFUSED = '!';
export const SKIPPED = '~';
/** Begins the type of a key that holds neither a hash of this format nor a string. */
export const FOREIGN = '?';

/**
 * The form of a key's value: a hash has `data`, and as a rule `version`; a string has no version. Everything else
 * belongs to another program, and is neither read nor overwritten.
 */
const FORM = `
local function form(key)
  local version = redis.pcall('HGET', key, 'version')
  if type(version) == 'table' then
    local found = redis.call('TYPE', key).ok
    if found == 'string' then return 'string', false end
    return '${FOREIGN}' .. found, false
  end
  if version then return 'hash', version end
  if redis.call('HEXISTS', key, 'data') == 1 then return 'hash', false end
  if redis.call('EXISTS', key) == 1 then return '${FOREIGN}hash without the field data', false end
  return 'none', false
end`;

/** When a key expires, in milliseconds since 1970; false for never. */
const EXPIRY = `
local now
local function expiryOf(key)
  local rest = redis.call('PTTL', key)
  if rest < 0 then return false end
  if not now then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return string.format('%.0f', now + rest)
end`;

/**
 * Returns three items for each key: its data, its version and the milliseconds since 1970 at which it expires; all
 * empty for one that does not exist. For a foreign one, the first is empty and the second its type.
 */
export const READ: Script = script(`${FORM}${EXPIRY}
local found = {}
for i, key in ipairs(KEYS) do
  local at = 3 * i
  local value = redis.pcall('HMGET', key, 'data', 'version')
  local data, version = value[1], value[2]
  if not data then
    local kind = form(key)
    if kind == 'string' then data = redis.call('GET', key)
    elseif kind ~= 'none' then version = kind == 'hash' and '${FOREIGN}hash without the field data' or kind end
  end
  found[at - 2], found[at - 1], found[at] = data or false, version or false, data and expiryOf(key) or false
end
return found`);

/**
 * One step of a scan. ARGV: the cursor, the pattern of the keys, how many keys to look at. Returns the next cursor, and
 * for each key of this format the key, the size of its data, its version and when it expires.
 */
export const SCAN: Script = script(`${FORM}${EXPIRY}
local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local found = {page[1]}
for _, key in ipairs(page[2]) do
  local kind, version = form(key)
  local bytes
  if kind == 'string' then bytes = redis.call('STRLEN', key)
  elseif kind == 'hash' and redis.call('HEXISTS', key, 'data') == 1 then bytes = redis.call('HSTRLEN', key, 'data') end
  if bytes then
    local at = #found
    found[at + 1], found[at + 2], found[at + 3], found[at + 4] = key, bytes, version, expiryOf(key)
  end
end
return found`);

/**
 * Writes groups of operations, one group after the other, each of them as a whole or not at all: checks all of a group,
 * since Redis has no rollback, and then writes.
 *
 * KEYS: those of the operations, in order; then, if there are events, both keys of the outbox. ARGV: for each group the
 * numbers of its operations and events (`3+0,1+2`), or nothing if each operation is a group of its own; for each
 * operation its head and the value; behind those of a group, for each event ID and bytes. A head is `p` (put) or `r`
 * (remove), the TTL in milliseconds or nothing, and the condition: nothing, `!` for absent, `=` and the ETag, which is
 * empty for a value without one.
 *
 * Returns for each operation the new version, nothing for a removed key, or one of the marks above.
 *
 * Events are in the order in which scripts leave them: each has a greater score, from the microseconds since 2025 on.
 *
 * The new version is the greater one of the next and the microseconds since 2025: no key has a version again, even if it
 * was deleted meanwhile, or counted on from 1 by Dapr. `HINCRBY` counts what is beyond the numbers of Lua.
 */
export const WRITE: Script = script(`${FORM}
local time = redis.call('TIME')
local now = (time[1] - 1735689600) * 1000000 + time[2]
local answers, first, at = {}, 1, 2

local function conditionOf(head)
  if #head == 1 then return '', '' end
  local ttl = string.match(head, '^%d*', 2)
  return string.sub(head, 2 + #ttl), ttl
end

local function put(key, kind, version, value, ttl)
  if kind == 'string' then redis.call('DEL', key) end
  local number = version and #version <= 18 and tonumber(version)
  if number and number >= now and string.find(version, '^%d+$') then
    redis.call('HSET', key, 'data', value)
    redis.call('HINCRBY', key, 'version', 1)
    version = redis.call('HGET', key, 'version')
  else
    version = string.format('%.0f', now)
    now = now + 1
    redis.call('HSET', key, 'data', value, 'version', version)
  end
  if ttl ~= '' then redis.call('PEXPIRE', key, ttl)
  elseif kind == 'hash' then redis.call('PERSIST', key) end
  return version
end

local function nextPlace(ids)
  local last = redis.call('ZRANGE', ids, -1, -1, 'WITHSCORES')[2]
  return math.max(now, tonumber(last or 0))
end

local function write(operations, events)
  local kinds, versions, ttls, holds = {}, {}, {}, true
  for i = 1, operations do
    local kind, version = form(KEYS[first + i - 1])
    local condition, ttl = conditionOf(ARGV[at + 2 * i - 2])
    local mark = '${SKIPPED}'
    if kind ~= 'hash' and kind ~= 'none' and kind ~= 'string' then mark = kind
    elseif condition == '!' then if kind ~= 'none' then mark = '${REFUSED}' end
    elseif condition ~= '' and (kind == 'none' or (version or '') ~= string.sub(condition, 2)) then
      mark = '${REFUSED}'
    end
    if mark ~= '${SKIPPED}' then holds = false end
    kinds[i], versions[i], ttls[i], answers[first + i - 1] = kind, version, ttl, mark
  end
  if holds then
    for i = 1, operations do
      local key, from = KEYS[first + i - 1], at + 2 * i - 2
      if string.byte(ARGV[from]) == 112 then
        answers[first + i - 1] = put(key, kinds[i], versions[i], ARGV[from + 1], ttls[i])
      else
        if kinds[i] ~= 'none' then redis.call('DEL', key) end
        answers[first + i - 1] = ''
      end
    end
    local place = events > 0 and nextPlace(KEYS[#KEYS - 1])
    for i = 1, events do
      local from = at + 2 * operations + 2 * i - 2
      redis.call('ZADD', KEYS[#KEYS - 1], string.format('%.0f', place + i), ARGV[from])
      redis.call('HSET', KEYS[#KEYS], ARGV[from], ARGV[from + 1])
    end
  end
  first, at = first + operations, at + 2 * operations + 2 * events
end

if ARGV[1] == '' then
  for i, key in ipairs(KEYS) do
    if ARGV[at] == 'p' then
      local kind, version = form(key)
      if kind == 'hash' or kind == 'none' or kind == 'string' then kind = put(key, kind, version, ARGV[at + 1], '') end
      answers[i] = kind
      first, at = first + 1, at + 2
    else write(1, 0) end
  end
else
  for operations, events in string.gmatch(ARGV[1], '(%d+)%+(%d+)') do write(tonumber(operations), tonumber(events)) end
end
return answers`);

/**
 * Returns ID and bytes of each event of a page, in order, and behind them the score of the last one. KEYS: both keys of
 * the outbox, a sorted set of IDs and a hash of bytes. ARGV: from which score, how many.
 */
export const READ_EVENTS: Script = script(`
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], '+inf', 'LIMIT', 0, ARGV[2])
local found = {}
for i, id in ipairs(ids) do
  found[2 * i - 1] = id
  found[2 * i] = redis.call('HGET', KEYS[2], id)
end
if #ids > 0 then found[2 * #ids + 1] = redis.call('ZSCORE', KEYS[1], ids[#ids]) end
return found`);

/** Removes events. KEYS: both keys of the outbox. ARGV: IDs. */
export const REMOVE_EVENTS: Script = script(`
for _, id in ipairs(ARGV) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
end`);
