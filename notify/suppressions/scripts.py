"""Suppressions and streaks of failures, as Lua scripts.

Four keys for each recipient, times in microseconds of the Redis server's clock:

    entry    the suppression: recipient, reason, source, by, since, unreported ("1" or nothing)
    entries  all suppressions of the channel: digests by the time they were added
    streak   failures since the last success: recipient, first, last, failures; expires
    streaks  all streaks of the channel: digests by the time of their last failure
"""

from typing import Final

_START: Final = """
local entry, entries, streak, streaks = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local function clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end
local now, digest = clock(), ARGV[2]
local function exact(number) return string.format('%.0f', number) end
local function end_streak()
  redis.call('DEL', streak)
  redis.call('ZREM', streaks, digest)
end
local function suppress(recipient, reason, source, by, unreported)
  redis.call('HSET', entry, 'recipient', recipient, 'reason', reason, 'source', source,
    'by', by, 'since', exact(now))
  if unreported == '1' then redis.call('HSET', entry, 'unreported', '1') end
  redis.call('ZADD', entries, exact(now), digest)
  end_streak()
  return redis.call('HGETALL', entry)
end
"""

# ARGV: now, digest, recipient, reason, source, by, unreported (1 or 0)
ADD: Final = (
    _START
    + """
if redis.call('EXISTS', entry) == 1 then return {} end
return suppress(ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7])
"""
)

# ARGV: now, digest
REMOVE: Final = (
    _START
    + """
end_streak()
redis.call('ZREM', entries, digest)
return redis.call('DEL', entry)
"""
)

# ARGV: now, digest
SUCCEEDED: Final = """
redis.call('DEL', KEYS[3])
redis.call('ZREM', KEYS[4], ARGV[2])
"""

# ARGV: now, digest, recipient, how long until it is given up, after how many failures at least,
#       the reason and the source then, unreported (1 or 0)
NOTE: Final = (
    _START
    + """
if redis.call('EXISTS', entry) == 1 then return {} end
local give_up_after = tonumber(ARGV[4])
local r = redis.call('HMGET', streak, 'first', 'failures')
local first, failures = tonumber(r[1]), tonumber(r[2]) or 0
-- Later than now by more than clocks differ: the server's clock has been put back since.
if not first or first > now + 5e6 then first, failures = now, 0 end
failures = failures + 1
if failures >= tonumber(ARGV[5]) and now - first >= give_up_after then
  return suppress(ARGV[3], ARGV[6], ARGV[7], '', ARGV[8])
end
-- A streak without a failure for so long is no longer one.
local kept = 2 * give_up_after
redis.call('HSET', streak, 'recipient', ARGV[3], 'first', exact(first), 'last', exact(now),
  'failures', exact(failures))
redis.call('PEXPIRE', streak, exact(math.ceil(kept / 1000)))
redis.call('ZREMRANGEBYSCORE', streaks, '-inf', exact(now - kept))
redis.call('ZADD', streaks, exact(now), digest)
redis.call('PEXPIRE', streaks, exact(math.ceil(kept / 1000)))
return {}
"""
)

# ARGV: now, digest
REPORTED: Final = _START + "return redis.call('HDEL', entry, 'unreported')"

# ARGV: now, digest, what is shown instead. Whoever opted out still has.
ERASE: Final = (
    _START
    + """
end_streak()
if redis.call('EXISTS', entry) == 0 then return 0 end
redis.call('HSET', entry, 'recipient', ARGV[3], 'by', '')
return 1
"""
)
