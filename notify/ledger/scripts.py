"""The ledger's transitions as Lua scripts, each one atomic step and one round trip.

A record is a hash while anything may still happen to it:

    s  state: sending, waiting, dead or unknown     g  generation     a  attempt last begun
    d  digest      o  owner of the latest claim     l  end of its lease (ms)
    p  provider it was given to last  x  "1" when a claim was given back before anything was sent
    u  "1" while the next step is not known to be published           n  the next step (JSON)
    k  channel.priority      q  first queued (ISO)  c  created (ms)   t  last change (ms)
    h1, h2, …  the attempts (JSON), hn how many     wd  attempts with which the worker died
    e  digests of what it was before a replay changed its content, each with a comma

A delivered notification shrinks to one short text: ``v1|g|a|digest|ms|provider|provider id``,
and ``|e`` where its content was changed.
All times are the Redis server's.

The marker tells whether keys were lost (flushed, or not replicated before a failover):

    born  since when (ms) nothing was lost      n  how many steps were written
    risk  how many claims since then may repeat a delivery whose record was lost

Every step counts ``n`` up, and every process remembers the highest it has seen: a lower one
means that steps were lost.
"""

from typing import Final

_PRELUDE: Final = """
local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function kind(key) return redis.call('TYPE', key)['ok'] end
local function split(text)
  local parts = {}
  for part in string.gmatch(text .. '|', '([^|]*)|') do parts[#parts + 1] = part end
  return parts
end
-- A copy of what a replay has changed since: old, but no other content under the same id.
local function outdated(olds, digest)
  return olds and string.find(olds, digest .. ',', 1, true) ~= nil
end
local function add_attempt(key, json)
  local n = redis.call('HINCRBY', key, 'hn', 1)
  redis.call('HSET', key, 'h' .. n, json)
end
local function count_step(seen)
  local n = redis.call('HINCRBY', KEYS[2], 'n', 1)
  if n == 1 or n <= seen then
    n = math.max(n, seen + 1)
    redis.call('HSET', KEYS[2], 'n', n, 'born', now_ms())
  end
  return n
end
"""

# ARGV: owner, generation, attempt, digest, lease ms, policy for unknown, retention ms,
#       channel.priority, first queued, steps seen, redelivered (1 or 0), first queued (ms),
#       provider, rung after an unknown outcome
CLAIM: Final = (
    _PRELUDE
    + """
local key, owner, g, a, digest = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local lease, policy, retention = tonumber(ARGV[5]), ARGV[6], ARGV[7]
local now = now_ms()
local steps = count_step(tonumber(ARGV[10]))
local function begin(generation, attempt, fresh)
  redis.call('HSET', key, 's', 'sending', 'g', generation, 'a', attempt, 'd', digest,
    'o', owner, 'l', now + lease, 'k', ARGV[8], 'q', ARGV[9], 'p', ARGV[13], 't', now,
    fresh and 'c' or 't', now)
  if not fresh then
    redis.call('HSETNX', key, 'c', now)
    redis.call('HDEL', key, 'u', 'n', 'x')
  end
  redis.call('PEXPIRE', key, retention)
  return {'claimed', generation, attempt}
end
-- The outcome of attempt ra is not known: try again later, with the provider that may have had
-- it and can tell, or leave it to a person.
local function unknown(rg, ra, provider, reason, detail, at)
  add_attempt(key, string.format(
    '{"generation":%d,"attempt":%d,"at":"","provider":"%s","outcome":"unknown",' ..
    '"reason":"%s","detail":"%s","code":"","ms":0,"at_ms":%.0f}',
    rg, ra, provider, reason, detail, at))
  local deaths = redis.call('HINCRBY', key, 'wd', 1)
  local poison = policy == 'resend' and deaths >= 3
  local again = policy == 'resend' and not poison
  local step = string.format('{"do":"dead","reason":"%s","detail":"last: %s"}',
    poison and 'poison' or 'unknown_outcome', reason)
  if again then
    ra = math.max(ra, a - 1)
    step = string.format('{"do":"delay","rung":%d,"provider":"%s"}', ARGV[14], provider)
  end
  redis.call('HSET', key, 's', again and 'waiting' or 'unknown', 'g', rg, 'a', ra, 'd', digest,
    'k', ARGV[8], 'q', ARGV[9], 'u', '1', 'n', step, 't', now)
  redis.call('HSETNX', key, 'c', now)
  redis.call('HDEL', key, 'o', 'l')
  redis.call('PEXPIRE', key, retention)
  return {'unpublished', rg, ra, step}
end
local function answer()
local what = kind(key)
if what == 'none' then
  if tonumber(ARGV[12]) >= tonumber(redis.call('HGET', KEYS[2], 'born')) then
    return begin(g, a, true)
  end
  -- Older than the last loss of keys: its record may have been among them.
  if ARGV[11] == '1' then
    return unknown(g, a, '', 'ledger_lost',
      'the ledger lost its record; it was delivered before', now)
  end
  redis.call('HINCRBY', KEYS[2], 'risk', 1)
  return begin(g, a, true)
end
if what == 'string' then
  local sent = split(redis.call('GET', key))
  if sent[4] ~= digest and not outdated(sent[8], digest) then return {'conflict'} end
  return {'duplicate'}
end
local r = redis.call('HMGET', key, 's', 'g', 'a', 'd', 'o', 'l', 'u', 'n', 'p', 'x', 'e')
local state, rg, ra = r[1], tonumber(r[2]), tonumber(r[3])
if g < rg and not r[7] and state ~= 'sending' then return {'stale', state} end
if r[4] ~= digest and outdated(r[11], digest) then return {'stale', state} end
if r[4] ~= digest then return {'conflict'} end
if state == 'sending' and r[5] == owner then
  -- Our own claim whose answer was lost.
  redis.call('HSET', key, 'l', now + lease)
  return {'claimed', rg, ra}
end
if state == 'sending' and r[10] then return begin(rg, ra) end
if state == 'sending' then
  local left = tonumber(r[6]) - now
  if left > 0 then return {'busy', left} end
  return unknown(rg, ra, r[9] or '', 'worker_died',
    'no outcome was written before the lease ended', tonumber(r[6]))
end
-- The message that a step published is here, so the step is published, flag or not.
local ahead = g > rg or (state == 'waiting' and g == rg and a > ra)
if ahead then return begin(g, a) end
if r[7] then return {'unpublished', rg, ra, r[8]} end
return {'stale', state}
end
return {steps, unpack(answer())}
"""
)

# ARGV: owner, generation, attempt, state, attempt record, next step, retention ms, sent text,
#       steps seen
SETTLE: Final = (
    _PRELUDE
    + """
local key, owner, g, a, state = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local now = now_ms()
local steps = count_step(tonumber(ARGV[9]))
local function answer()
local what = kind(key)
if what == 'string' then
  -- Our own settle whose answer was lost: no later attempt could have been sent.
  local sent = split(redis.call('GET', key))
  if state == 'sent' and sent[2] == g and sent[3] == a then return 'ok' end
  return 'lost'
end
if what ~= 'hash' then return 'lost' end
local r = redis.call('HMGET', key, 's', 'g', 'a', 'o', 'e')
if r[2] ~= g or r[3] ~= a or r[4] ~= owner then return 'lost' end
if r[1] ~= 'sending' then return r[1] == state and 'ok' or 'lost' end
if state == 'sent' then
  local olds = r[5] and '|' .. r[5] or ''
  redis.call('SET', key, string.format(ARGV[8], now) .. olds, 'PX', ARGV[7])
  return 'ok'
end
add_attempt(key, ARGV[5])
redis.call('HSET', key, 's', state, 'u', '1', 'n', ARGV[6], 't', now)
redis.call('HDEL', key, 'l')
redis.call('PEXPIRE', key, ARGV[7])
return 'ok'
end
return {steps, answer()}
"""
)

# ARGV: owner, generation, attempt, record of the offer that failed, next provider, lease ms,
#       retention ms, steps seen
OFFER: Final = (
    _PRELUDE
    + """
local key, owner, provider = KEYS[1], ARGV[1], ARGV[5]
local now = now_ms()
local steps = count_step(tonumber(ARGV[8]))
local function answer()
if kind(key) ~= 'hash' then return 'lost' end
local r = redis.call('HMGET', key, 's', 'g', 'a', 'o', 'p')
if r[1] ~= 'sending' or r[2] ~= ARGV[2] or r[3] ~= ARGV[3] or r[4] ~= owner then
  return 'lost'
end
-- Otherwise this is a repeat after a lost answer: the record is there.
if r[5] ~= provider then add_attempt(key, ARGV[4]) end
redis.call('HSET', key, 'p', provider, 'l', now + tonumber(ARGV[6]), 't', now)
redis.call('PEXPIRE', key, ARGV[7])
return 'ok'
end
return {steps, answer()}
"""
)

# ARGV: owner, generation, attempt
RELEASE: Final = """
if redis.call('TYPE', KEYS[1])['ok'] ~= 'hash' then return 'lost' end
local r = redis.call('HMGET', KEYS[1], 's', 'g', 'a', 'o')
if r[1] ~= 'sending' or r[2] ~= ARGV[2] or r[3] ~= ARGV[3] or r[4] ~= ARGV[1] then
  return 'lost'
end
redis.call('HSET', KEYS[1], 'x', '1', 'l', '0')
return 'ok'
"""

PROBE: Final = "return redis.call('SET', KEYS[1], 1, 'EX', 60)"

# ARGV: steps seen
MARK: Final = _PRELUDE + "return {count_step(tonumber(ARGV[1]))}"

# ARGV: generation, attempt
CLEAR: Final = """
-- The next attempt's message may have overtaken this, and be delivered already.
if redis.call('TYPE', KEYS[1])['ok'] ~= 'hash' then return 'ok' end
local r = redis.call('HMGET', KEYS[1], 'g', 'a', 's')
if r[1] == ARGV[1] and r[2] == ARGV[2] and r[3] ~= 'sending' then
  redis.call('HDEL', KEYS[1], 'u')
end
return 'ok'
"""

# A record changes its type when it is delivered: both forms are read in one step.
READ: Final = """
local what = redis.call('TYPE', KEYS[1])['ok']
if what == 'string' then return {what, redis.call('GET', KEYS[1])} end
if what == 'hash' then return {what, unpack(redis.call('HGETALL', KEYS[1]))} end
return {what}
"""

# ARGV: new generation, digest, retention ms, channel.priority, first queued, attempt archived,
#       digest archived
REPLAY: Final = (
    _PRELUDE
    + """
local key, g, digest, archived = KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[7]
local now = now_ms()
local what = kind(key)
if what == 'string' then return {'sent', split(redis.call('GET', key))[2]} end
local olds = ''
if what == 'hash' then
  local r = redis.call('HMGET', key, 's', 'g', 'a', 'l', 'd', 'e')
  local rg = tonumber(r[2])
  local repeated = r[1] == 'waiting' and rg == g and r[3] == '0'
  local left_behind = r[1] == 'sending' and tonumber(r[4]) < now
  -- The message that should have carried it on is in the archive.
  local stranded = r[1] == 'waiting' and rg == g - 1 and tonumber(r[3]) < tonumber(ARGV[6])
  local over = (r[1] == 'dead' or r[1] == 'unknown' or left_behind or stranded) and rg < g
  if not repeated and not over then return {'in flight', rg, r[1]} end
  olds = r[6] or ''
  local same = r[5] == archived or (repeated and r[5] == digest) or outdated(olds, archived)
  if not same then return {'conflict', rg} end
  -- Another replay may have published this generation with other changes.
  if repeated and not outdated(olds, r[5]) then olds = olds .. r[5] .. ',' end
end
if archived ~= digest and not outdated(olds, archived) then olds = olds .. archived .. ',' end
if outdated(olds, digest) then olds = string.gsub(olds, digest .. ',', '') end
redis.call('HSET', key, 's', 'waiting', 'g', g, 'a', 0, 'd', digest, 'k', ARGV[4],
  'q', ARGV[5], 't', now)
redis.call('HSETNX', key, 'c', now)
redis.call('HDEL', key, 'u', 'n', 'o', 'l', 'wd', 'x', 'e')
if olds ~= '' then redis.call('HSET', key, 'e', olds) end
redis.call('PEXPIRE', key, ARGV[3])
return {'ok', g}
"""
)

# KEYS: any number of records
STATES: Final = """
local found = {}
for i, key in ipairs(KEYS) do
  local what = redis.call('TYPE', key)['ok']
  if what == 'string' then
    found[i] = {'sent', redis.call('GET', key)}
  elseif what == 'hash' then
    found[i] = redis.call('HMGET', key, 's', 'g', 'a', 'd', 'l', 'e')
  else
    found[i] = {'none'}
  end
end
return found
"""
