"""The steps of the schedules' store in Redis, each one atomic script.

A schedule is an entry of RedBeat's, in RedBeat's keys, with a few fields more; below the prefix
(``notify:beat:``) there are

    NAME            hash: definition, meta       RedBeat's own, as JSON
                          v   version, another for each change, never the same again
                          w   watermark: up to this instant everything is over
                          o   instants still owed from before an edit, separated by commas
                          a   when it was first tried to fire what it is to fire next
                          x   why it could not be fired when it was tried last
                          r   revision, whatever the writer wants to recognise it by
    :schedule       sorted set of RedBeat: entry by the second it is due; -1 while it is paused,
                    -2 when nothing follows
    :lock           the leading beat's token
    :names          sorted set, all scores 0: the names in order
    :versions       the last version that was given
    :quarantine     sorted set: names of entries that cannot be used, by when they were put there
    :reasons        hash: why, by name
    :form           2, when no entry is left that RedBeat has stored itself
    :stamp          set when the first schedule is stored: another one, or none, and Redis was lost

Instants are microseconds since 1970; numbers so large stay exact in Lua's doubles.
"""

from typing import Final

# KEYS of all: entry, :schedule, :lock, :names, :versions, :quarantine, :reasons, :stamp
_PRELUDE: Final = """
local entry, due, lock, names = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local quarantine, reasons = KEYS[6], KEYS[7]
local function version() return redis.call('INCR', KEYS[5]) end
local function led(token) return token == '' or redis.call('GET', lock) == token end
local function set(field, value)
  if value == '' then redis.call('HDEL', entry, field)
  else redis.call('HSET', entry, field, value) end
end
local function free(name)
  redis.call('ZREM', quarantine, name)
  redis.call('HDEL', reasons, name)
end
"""

# ARGV: name, expected version ("" for none yet, "0" for RedBeat's own form), definition, meta,
#       watermark, score, owed, revision, stamp
PUT: Final = (
    _PRELUDE
    + """
local name, expected = ARGV[1], ARGV[2]
local found = redis.call('EXISTS', entry) == 1
if expected == '' then
  if found then return 'exists' end
else
  if not found then return 'gone' end
  if (redis.call('HGET', entry, 'v') or '0') ~= expected then return 'changed' end
end
redis.call('HSET', entry, 'definition', ARGV[3], 'v', version(), 'w', ARGV[5])
set('meta', ARGV[4])
set('o', ARGV[7])
set('r', ARGV[8])
redis.call('HDEL', entry, 'x', 'a')
redis.call('ZADD', due, ARGV[6], entry)
redis.call('ZADD', names, 0, name)
redis.call('SETNX', KEYS[8], ARGV[9])
free(name)
return 'ok'
"""
)

# ARGV: name
REMOVE: Final = (
    _PRELUDE
    + """
local found = redis.call('DEL', entry) + redis.call('ZREM', due, entry)
  + redis.call('ZREM', names, ARGV[1]) + redis.call('ZREM', quarantine, ARGV[1])
redis.call('HDEL', reasons, ARGV[1])
return found
"""
)

# After a confirm, for many at once. A schedule that was edited meanwhile keeps what it owes beyond
# what was fired; where it has the same times, and so the same watermark, what was fired with the
# old content is over with the new one too. One that was removed stays removed.
# KEYS: any entry, and the rest. ARGV: token, prefix, a JSON list of lists: name, version, watermark
# that was, watermark, score ("" at its end), meta, last instant that was fired. All are texts.
ADVANCE: Final = (
    _PRELUDE
    + """
local function advance(name, version, was, watermark, score, meta, through)
  entry = ARGV[2] .. name
  local known = redis.call('HMGET', entry, 'v', 'w', 'o')
  if not known[1] then return 'gone' end
  if known[1] ~= version then
    local left = {}
    for each in string.gmatch(known[3] or '', '[^,]+') do
      if tonumber(each) > tonumber(through) then left[#left + 1] = each end
    end
    set('o', table.concat(left, ','))
    if known[2] == was then
      redis.call('HSET', entry, 'w', watermark, 'meta', meta)
      redis.call('HDEL', entry, 'x', 'a')
    end
    return 'edited'
  end
  if known[2] ~= was then return 'moved' end
  if score == '' then
    redis.call('DEL', entry)
    redis.call('ZREM', due, entry)
    redis.call('ZREM', names, name)
    return 'ended'
  end
  redis.call('HSET', entry, 'w', watermark, 'meta', meta)
  redis.call('HDEL', entry, 'o', 'x', 'a')
  redis.call('ZADD', due, score, entry)
  return 'ok'
end
local fenced, outcomes = not led(ARGV[1]), {}
for number, row in ipairs(cjson.decode(ARGV[3])) do
  outcomes[number] = fenced and 'fenced' or advance(unpack(row))
end
return outcomes
"""
)

# As many of the entries as have so many bytes together, but one at least: a JSON list of lists of
# fields, false where there is no entry. KEYS: entries. ARGV: bytes, fields.
READ: Final = """
local left, found = tonumber(ARGV[1]), {}
for number, key in ipairs(KEYS) do
  local row = redis.pcall('HMGET', key, unpack(ARGV, 2))
  -- What is no hash at all is no entry.
  if row['err'] or not row[1] then row = false end
  found[number] = row
  if row then left = left - #row[1] end
  if left <= 0 then break end
end
return cjson.encode(found)
"""

# ARGV: name, token, version, score, why
LATER: Final = (
    _PRELUDE
    + """
if not led(ARGV[2]) then return 'fenced' end
if redis.call('HGET', entry, 'v') ~= ARGV[3] then return 'edited' end
redis.call('HSET', entry, 'x', ARGV[5])
redis.call('ZADD', due, 'XX', ARGV[4], entry)
return 'ok'
"""
)

# ARGV: name, token, version ("" where there is none to be read), now, reason
QUARANTINE: Final = (
    _PRELUDE
    + """
if not led(ARGV[2]) then return 'fenced' end
local v = redis.pcall('HGET', entry, 'v')
-- What is no hash at all has no version either.
if type(v) == 'string' and v ~= ARGV[3] then return 'edited' end
if redis.call('ZREM', due, entry) == 0 then return 'gone' end
redis.call('ZADD', quarantine, ARGV[4], ARGV[1])
redis.call('HSET', reasons, ARGV[1], ARGV[5])
return 'ok'
"""
)

# ARGV: name, version, score
RELEASE: Final = (
    _PRELUDE
    + """
if redis.call('ZSCORE', due, entry) then return 'free' end
if redis.call('HGET', entry, 'v') ~= ARGV[2] then return 'changed' end
free(ARGV[1])
redis.call('HDEL', entry, 'x', 'a')
redis.call('ZADD', due, ARGV[3], entry)
redis.call('ZADD', names, 0, ARGV[1])
return 'ok'
"""
)

# ARGV: name, token, version, now
TRY: Final = (
    _PRELUDE
    + """
if not led(ARGV[2]) then return 'fenced' end
if redis.call('HGET', entry, 'v') ~= ARGV[3] then return 'edited' end
redis.call('HSETNX', entry, 'a', ARGV[4])
return redis.call('HGET', entry, 'a')
"""
)
