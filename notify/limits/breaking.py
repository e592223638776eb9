"""Breakers, statistics and the operator's choice, as Lua scripts.

An account's hash ``breaker``, times in microseconds of the Redis server's clock:

    w0…w9   a ring of buckets, each a tenth of the window wide: what is shown
    j0…j9   the same of what the breaker judges by: sends since it last changed
    r0…r10  a ring of seconds: for the rate       width  of a bucket
    open    "1" unless closed                     since  when it left "closed"
    at for  when it was opened last, how long     closed when it was closed last
    owner lease   who probes, until when          turn   how many changes

``open`` with its time over is half open: nobody needs to write that down. The hash ``mode``
is the operator's: mode, by, until.
"""

from typing import Final

from notify.limits.pacing import CLOCK, RINGS, SLOWNESS

_REOPENING: Final = """
-- How long an open breaker stays so.
local function reopening(at, lasts)
  if ahead(at) then return 0 end
  return math.max(0, at + lasts - now)
end
"""

_STATE: Final = (
    CLOCK
    + SLOWNESS
    + RINGS
    + _REOPENING
    + """
-- Of an account whose five keys follow KEYS[k], with its breaker's fields.
local function state(k, b)
  local mode, pace = fields(KEYS[k + 4]), fields(KEYS[k + 1])
  if mode['until'] and tonumber(mode['until']) <= now then mode = {} end
  local left = b.open and reopening(b.at + 0, b['for']) or 0
  local phase = b.open and (left > 0 and 'open' or 'half_open') or 'closed'
  local index = math.floor(now / (tonumber(b.width) or 1e6))
  local ok, failed, busy = sums(b, 'w', 10, index - 9, index)
  local hold = tonumber(pace.hold) or 0
  local factor = slowness(tonumber(pace.f), hold)
  local used = now < (tonumber(pace.day) or 0) and pace.dn + pace.du or 0
  local live = '(' .. exact(now)
  local in_flight = redis.call('ZCOUNT', KEYS[k + 2], live, '+inf')
    + redis.call('ZCOUNT', KEYS[k + 3], live, '+inf')
  return {mode.mode or 'enabled', mode.by or '', phase, mode['until'] or '0',
    b.open and b.since or '0', b.open and b['for'] or '0', exact(left),
    b.open and now < (tonumber(b.lease) or 0) and '1' or '0', b.turn or '0',
    exact(ok), exact(failed), exact(busy), exact(measured(b)), exact(factor),
    exact(factor < 1 and math.max(0, hold - now) or 0), exact(used), exact(in_flight)}
end
"""
)

# KEYS: five of each account        ARGV: now
STATES: Final = (
    _STATE
    + """
local states = {}
for k = 1, #KEYS, 5 do states[#states + 1] = state(k, fields(KEYS[k])) end
return states
"""
)

# KEYS: five of each account: breaker, pace, normal, urgent, mode
# ARGV: now, then of each account: ok, failed, late ok, late failed, busy (microseconds),
#       probed, enabled (1 or 0), window, minimum, error rate, open for, longest
REPORT: Final = (
    _STATE
    + """
local key, b
local function put(name, value)
  b[name] = value
  if value then redis.call('HSET', key, name, value) else redis.call('HDEL', key, name) end
end
local function add(name, size, index, ok, failed, busy)
  local field = name .. index % size
  local a, f, c = bucket(b[field], index)
  put(field, string.format('%.0f %.0f %.0f %.0f', index, a + ok, f + failed, c + busy))
end
-- Opens for so long, or closes.
local function change(lasts)
  for i = 0, 9 do if b['j' .. i] then put('j' .. i, nil) end end
  if lasts and not b.open then put('since', exact(now)) end
  put('open', lasts and '1' or nil)
  put('closed', not lasts and exact(now) or nil)
  if lasts then
    put('at', exact(now))
    put('for', exact(lasts))
  end
  put('owner', nil)
  put('lease', nil)
  put('turn', exact((tonumber(b.turn) or 0) + 1))
end
local function count(ok, failed, late_ok, late_failed, busy, window)
  put('width', exact(window / 10))
  add('w', 10, math.floor(now / (window / 10)), ok + late_ok, failed + late_failed, busy)
  add('r', 11, math.floor(now / 1e6), ok + late_ok, failed + late_failed, busy)
end
local function judge(ok, failed, probed, window, minimum, error_rate, open_for, longest)
  if b.open then
    if reopening(b.at + 0, b['for']) > 0 then return end
    if probed == 'ok' then change(nil) end
    if probed == 'failed' then change(math.min(longest, b['for'] * 2)) end
    return
  end
  if b.closed and now - b.closed >= window then
    put('closed', nil)
    put('for', nil)
  end
  if ok + failed == 0 then return end
  local index = math.floor(now / (window / 10))
  add('j', 10, index, ok, failed, 0)
  local good, bad = sums(b, 'j', 10, index - 9, index)
  if good + bad >= minimum and bad >= error_rate * (good + bad) - 1e-9 then
    change(math.min(longest, b.closed and tonumber(b['for']) or open_for))
  end
end
local states = {}
for k = 1, #KEYS, 5 do
  local a = {}
  for i = 1, 12 do a[i] = ARGV[1 + (k - 1) / 5 * 12 + i] end
  local probed, enabled = a[6], a[7] == '1'
  for i = 1, 12 do a[i] = tonumber(a[i]) end
  key, b = KEYS[k], fields(KEYS[k])
  if a[1] + a[2] + a[3] + a[4] > 0 then count(a[1], a[2], a[3], a[4], a[5], a[8]) end
  if enabled then
    judge(a[1], a[2], probed, a[8], a[9], a[10], a[11], a[12])
  elseif b.open then
    change(nil)
  end
  if next(b) then keep(key, math.max(3600e6, 2 * a[8], 2 * a[12])) end
  states[#states + 1] = state(k, b)
end
return states
"""
)

# KEYS: breaker        ARGV: now, owner, lease
PROBE: Final = (
    CLOCK
    + _REOPENING
    + """
local r = redis.call('HMGET', KEYS[1], 'open', 'at', 'for', 'owner', 'lease')
if not r[1] or reopening(r[2] + 0, r[3]) > 0 then return 0 end
local lease, seconds = tonumber(r[5]), tonumber(ARGV[3])
if r[4] and r[4] ~= ARGV[2] and now < lease and not ahead(lease - seconds) then return 0 end
redis.call('HSET', KEYS[1], 'owner', ARGV[2], 'lease', exact(now + seconds))
return 1
"""
)

# KEYS: mode        ARGV: now, mode, by, how long (empty: until it is changed)
SET_MODE: Final = (
    CLOCK
    + """
redis.call('DEL', KEYS[1])
if ARGV[2] == 'enabled' then return end
redis.call('HSET', KEYS[1], 'mode', ARGV[2], 'by', ARGV[3])
if ARGV[4] == '' then return end
redis.call('HSET', KEYS[1], 'until', exact(now + tonumber(ARGV[4])))
keep(KEYS[1], tonumber(ARGV[4]))
"""
)
