"""Rate, concurrency, daily cap and slow-down of an account, as Lua scripts.

An account's hash ``pace``, times in microseconds of the Redis server's clock:

    tat   when the next slot is (as in the generic cell rate algorithm, ITU-T I.371)
    seen  when the last slot was given out
    turn  when the next caller that was denied a slot is told to ask again
    day   the end of the day that dn and du count for
    dn du units of cost taken on that day by normal and urgent notifications
    f     factor on the rate since the last slow-down       cut   when that was
    hold  until when nothing may be sent                    base  the rate (1/s), if measured

Two sorted sets, ``normal`` and ``urgent``, hold the tokens in flight by the end of their lease.
"""

from typing import Final

CLOCK: Final = """
local function clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end
local now = clock()
local function exact(number) return string.format('%.17g', number) end
-- Later than now by more than clocks differ: the server's clock has been put back since.
local function ahead(time) return time > now + 5e6 end
local function keep(key, micros)
  local ms = math.ceil(micros / 1000)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, string.format('%.0f', ms)) end
end
"""

SLOWNESS: Final = """
-- The factor a slow-down has left: it is constant while held, then grows to 1 within a minute.
local function slowness(f, hold)
  if not f or ahead(hold - 300e6) then return 1 end
  return math.min(1, f + (1 - f) * math.max(0, now - hold) / 60e6)
end
"""

# KEYS: pace, normal, urgent, and perhaps one which, while it is there, forbids it
# ARGV: now, token, urgent (1 or 0), cost, lease, rate, burst, most in flight, most normal,
#       most a day, most normal a day (empty: not limited), starts of days
RESERVE: Final = (
    CLOCK
    + SLOWNESS
    + """
if KEYS[4] and redis.call('EXISTS', KEYS[4]) == 1 then return {'barred', 0} end
local pace, urgent, cost = KEYS[1], ARGV[3] == '1', tonumber(ARGV[4])
local rate, in_flight, a_day = tonumber(ARGV[6]), tonumber(ARGV[8]), tonumber(ARGV[10])
local r = redis.call('HMGET', pace, 'tat', 'turn', 'day', 'dn', 'du', 'f', 'hold', 'base', 'seen')
for i = 1, 9 do r[i] = tonumber(r[i]) end
local tat, turn, day, f, hold = r[1], r[2] or 0, r[3], r[6], r[7]
local taken = {[false] = r[4] or 0, [true] = r[5] or 0}

local factor = slowness(f, hold)
if f and factor == 1 then
  redis.call('HDEL', pace, 'f', 'hold', 'base', 'cut')
elseif f and now < hold then
  return {'slowed', hold - now}
end

if a_day then
  if not day or now >= day or ahead(day - 48 * 3600e6) then
    taken, day = {[false] = 0, [true] = 0}, now + 86400e6
    for i = #ARGV, 12, -1 do
      if tonumber(ARGV[i]) > now then day = tonumber(ARGV[i]) end
    end
  end
  local over = taken[false] + taken[true] + cost > a_day
  if over or (not urgent and taken[false] + cost > tonumber(ARGV[11])) then
    return {'daily', day - now}
  end
end

if in_flight then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', exact(now))
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', exact(now))
  local normal = redis.call('ZCARD', KEYS[2])
  local full = normal + redis.call('ZCARD', KEYS[3]) >= in_flight
  if full or (not urgent and normal >= tonumber(ARGV[9])) then return {'concurrency', 0} end
end

local wait, before, after, kept = 0, '', '', 3600e6
-- What was measured is sends, whatever they cost.
local speed, units = rate, cost
if f and factor < 1 and not rate then speed, units = r[8], 1 end
if speed then
  local unit = 1e6 / (speed * factor)
  -- No burst while slowed.
  local credit = factor == 1 and tonumber(ARGV[7]) * unit or 0
  if not tat or ahead(r[9] or 0) then tat = now - credit end
  local slot = math.max(tat, now - credit)
  local away = slot - now - (urgent and 5e6 or 0.25e6)
  if away > 0 then
    -- Those who are denied come back one after the other, within a second.
    turn = math.max(turn, now + away)
    redis.call('HSET', pace, 'turn', exact(turn + math.min(units * unit, 38200)))
    keep(pace, 3600e6)
    return {rate and 'rate' or 'slowed', away + (turn - now - away) % 1e6}
  end
  wait, before, after = math.max(0, slot - now), exact(slot), exact(slot + units * unit)
  redis.call('HSET', pace, 'tat', after, 'seen', exact(now))
  kept = math.max(kept, credit + wait + units * unit)
end
if a_day then
  taken[urgent] = taken[urgent] + cost
  redis.call('HSET', pace, 'day', exact(day), 'dn', exact(taken[false]), 'du', exact(taken[true]))
  kept = math.max(kept, day - now)
end
if speed or a_day then keep(pace, kept) end
if in_flight then
  local key, lease = KEYS[urgent and 3 or 2], tonumber(ARGV[5]) + wait
  redis.call('ZADD', key, exact(now + lease), ARGV[2])
  keep(key, lease)
end
return {'granted', wait, a_day and exact(day) or '', before, after}
"""
)

# KEYS: pace, and the set that the token is in
# ARGV: now, token, unused (1 or 0), cost, field of the day's count, day, before, after
RELEASE: Final = """
redis.call('ZREM', KEYS[2], ARGV[2])
if ARGV[3] ~= '1' then return end
local r = redis.call('HMGET', KEYS[1], 'tat', 'day', ARGV[5])
if ARGV[8] ~= '' and r[1] == ARGV[8] then redis.call('HSET', KEYS[1], 'tat', ARGV[7]) end
if ARGV[6] ~= '' and r[2] == ARGV[6] then
  local left = math.max(0, tonumber(r[3]) - tonumber(ARGV[4]))
  redis.call('HSET', KEYS[1], ARGV[5], string.format('%.17g', left))
end
"""

RINGS: Final = """
-- A ring of buckets in a hash: field name..(index % size) is "index ok failed busy". What is
-- in a place under another index is old, or of another width, and counts as nothing.
local function bucket(text, index)
  local at, ok, failed, busy = string.match(text or '', '^(%S+) (%S+) (%S+) (%S+)$')
  if tonumber(at) ~= index then return 0, 0, 0 end
  return tonumber(ok), tonumber(failed), tonumber(busy)
end
local function sums(hash, name, size, first, last)
  local ok, failed, busy, oldest = 0, 0, 0, nil
  for index = first, last do
    local a, b, c = bucket(hash[name .. index % size], index)
    ok, failed, busy = ok + a, failed + b, busy + c
    if a + b > 0 then oldest = oldest or index end
  end
  return ok, failed, busy, oldest
end
local function fields(key)
  local flat, hash = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do hash[flat[i]] = flat[i + 1] end
  return hash
end
-- Sends per second in the last ten full seconds, or since the first of them that had any.
local function measured(hash)
  local second = math.floor(now / 1e6)
  local ok, failed, _, oldest = sums(hash, 'r', 11, second - 10, second - 1)
  return oldest and (ok + failed) / (second - oldest) or 0
end
"""

# KEYS: pace, breaker        ARGV: now, how long to hold, rate (empty: not limited)
SLOW_DOWN: Final = (
    CLOCK
    + SLOWNESS
    + RINGS
    + """
local r = redis.call('HMGET', KEYS[1], 'f', 'hold', 'cut')
local f, hold, cut = tonumber(r[1]), tonumber(r[2]) or 0, tonumber(r[3]) or 0
local factor = slowness(f, hold)
if factor == 1 then
  hold, cut = 0, 0
  redis.call('HDEL', KEYS[1], 'base')
  if ARGV[3] == '' then
    redis.call('HSET', KEYS[1], 'base', exact(math.max(1, measured(fields(KEYS[2])))))
  end
end
-- Nothing is sent while held: what is answered then was sent before, and known of.
if now >= hold and now - cut >= 1e6 then
  redis.call('HSET', KEYS[1], 'f', exact(math.max(0.05, factor * 0.5)), 'cut', exact(now))
end
redis.call('HSET', KEYS[1], 'hold', exact(math.max(hold, now + tonumber(ARGV[2]))))
keep(KEYS[1], 3600e6)
"""
)
