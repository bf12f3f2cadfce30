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
local call, pcall = redis.call, redis.pcall
local function form(key)
  local version = pcall('HGET', key, 'version')
  if type(version) == 'string' then return 'hash', version end
  if version then
    local found = call('TYPE', key).ok
    if found == 'string' then return 'string', false end
    return '${FOREIGN}' .. found, false
  end
  if call('HEXISTS', key, 'data') == 1 then return 'hash', false end
  if call('EXISTS', key) == 1 then return '${FOREIGN}hash without the field data', false end
  return 'none', false
end`;

/** When a key expires, in milliseconds since 1970; false for never. */
const EXPIRY = `
local now
local function expiryOf(key)
  local rest = call('PTTL', key)
  if rest < 0 then return false end
  if not now then
    local time = call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return string.format('%.0f', now + rest)
end`;

/**
 * Returns three items for each key: its data, its version and the milliseconds since 1970 at which it expires; all
 * empty for one that does not exist. For a foreign one, the first is empty and the second its type.
 */
export const READ: Script = script(`${FORM}${EXPIRY}
local found, at = {}, 0
for i = 1, #KEYS do
  local key = KEYS[i]
  local value = pcall('HMGET', key, 'data', 'version')
  local data, version = value[1], value[2]
  if not data then
    local kind = form(key)
    if kind == 'string' then data = call('GET', key)
    elseif kind ~= 'none' then version = kind == 'hash' and '${FOREIGN}hash without the field data' or kind end
  end
  found[at + 1], found[at + 2], found[at + 3] = data or false, version or false, data and expiryOf(key) or false
  at = at + 3
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
 * KEYS: those of the operations, in order; then, if there are events, both keys of the outbox. ARGV[1] tells the groups,
 * and what follows:
 *
 * - nothing: each operation is a group of its own, and puts a value; `4,1`: the same for groups of so many operations. The
 *   values follow: no operation has a condition or a TTL.
 * - `3+0,1+2`: the numbers of operations and events of each. For each operation its head and the value follow, behind
 *   those of a group for each event ID and bytes. A head is `p` (put) or `r` (remove), the TTL in milliseconds or nothing,
 *   and the condition: nothing, `!` for absent, `=` and the ETag, which is empty for a value without one.
 *
 * Returns for each operation the new version, nothing for a removed key, or one of the marks above; or the new version of
 * all, if all have the same.
 *
 * Events are in the order in which scripts leave them: each has a greater score, from the microseconds since 2025 on.
 *
 * The new version is the greater one of the next and the microseconds since 2025: no key has a version again, even if it
 * was deleted meanwhile, or counted on from 1 by Dapr. What follows in a script on a deletion gets a greater one than the
 * key had. `HINCRBY` counts what is beyond the numbers of Lua.
 */
export const WRITE: Script = script(`${FORM}
local time = call('TIME')
local now = (time[1] - 1735689600) * 1000000 + time[2]
local stamp = string.format('%.0f', now)
local kinds, versions, answers, first, isUniform = {}, {}, {}, 1, true

local function numberOf(version)
  return version and #version <= 18 and tonumber(version) or 0
end

local function put(i, value, ttl)
  local key, kind, version = KEYS[i], kinds[i], versions[i]
  if kind == 'string' then call('DEL', key) end
  if numberOf(version) >= now and string.find(version, '^%d+$') then
    call('HSET', key, 'data', value)
    call('HINCRBY', key, 'version', 1)
    answers[i] = call('HGET', key, 'version')
    isUniform = false
  else
    call('HSET', key, 'data', value, 'version', stamp)
    answers[i] = stamp
  end
  if ttl ~= '' then call('PEXPIRE', key, ttl)
  elseif kind == 'hash' then call('PERSIST', key) end
end

local function remove(i)
  answers[i] = ''
  if kinds[i] == 'none' then return end
  call('DEL', KEYS[i])
  now = math.max(now, numberOf(versions[i])) + 1
  stamp = string.format('%.0f', now)
end

local function look(i)
  local kind, version = form(KEYS[i])
  kinds[i], versions[i] = kind, version
  if kind == 'hash' or kind == 'none' or kind == 'string' then return true end
  answers[i], isUniform = kind, false
  return false
end

local function putAll(operations)
  local holds, last = true, first + operations - 1
  for i = first, last do
    if not look(i) then holds = false end
  end
  for i = first, last do
    if holds then put(i, ARGV[i + 1], '')
    else answers[i] = answers[i] or '${SKIPPED}' end
  end
  first = last + 1
end

local at = 2

local function conditionOf(head)
  if #head == 1 then return '', '' end
  local ttl = string.match(head, '^%d*', 2)
  return string.sub(head, 2 + #ttl), ttl
end

local function markOf(i, condition)
  if not look(i) then return answers[i] end
  local kind, version = kinds[i], versions[i]
  if condition == '!' then return kind ~= 'none' and '${REFUSED}' end
  return condition ~= '' and (kind == 'none' or (version or '') ~= string.sub(condition, 2)) and '${REFUSED}'
end

local function addEvents(events, from)
  local ids, bytes = KEYS[#KEYS - 1], KEYS[#KEYS]
  local last = call('ZRANGE', ids, -1, -1, 'WITHSCORES')[2]
  local place = math.max(now, tonumber(last or 0))
  for i = 1, events do
    local id = ARGV[from + 2 * i - 2]
    call('ZADD', ids, string.format('%.0f', place + i), id)
    call('HSET', bytes, id, ARGV[from + 2 * i - 1])
  end
end

local function write(operations, events)
  local ttls, holds, last = {}, true, first + operations - 1
  for i = first, last do
    local condition
    condition, ttls[i] = conditionOf(ARGV[at + 2 * (i - first)])
    local mark = markOf(i, condition)
    if mark then holds = false end
    answers[i] = mark or '${SKIPPED}'
  end
  if holds then
    for i = first, last do
      local from = at + 2 * (i - first)
      if string.byte(ARGV[from]) == 112 then put(i, ARGV[from + 1], ttls[i]) else remove(i) end
    end
    if events > 0 then addEvents(events, at + 2 * operations) end
  end
  isUniform = false
  first, at = last + 1, at + 2 * operations + 2 * events
end

if ARGV[1] == '' then
  for i = 1, #KEYS do
    if look(i) then put(i, ARGV[i + 1], '') end
  end
else
  for operations, events in string.gmatch(ARGV[1], '(%d+)%+?(%d*)') do
    if events == '' then putAll(tonumber(operations)) else write(tonumber(operations), tonumber(events)) end
  end
end
return isUniform and stamp or answers`);

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
