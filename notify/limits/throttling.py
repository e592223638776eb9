"""The throttle of a recipient, as a Lua script.

One sorted set for what a recipient was sent, and one for each content it was sent: the
notifications' ids by the time (microseconds) they were counted.
"""

from typing import Final

from notify.limits.pacing import CLOCK

# KEYS: one or two sets, and perhaps one key more which, while it is there, forbids it
# ARGV: now, id, then for each set: how many windows, and of each the most messages and its length
THROTTLE: Final = (
    CLOCK
    + """
local id, at = ARGV[2], 3
local wait, longest = 0, {}
for k, key in ipairs(KEYS) do
  if not ARGV[at] then
    if redis.call('EXISTS', key) == 1 then return 0 end
    break
  end
  local windows, span = tonumber(ARGV[at]), 0
  for w = 1, windows do span = math.max(span, tonumber(ARGV[at + 2 * w])) end
  redis.call('ZREMRANGEBYSCORE', key, '-inf', exact(now - span))
  if not redis.call('ZSCORE', key, id) then
    longest[k] = span
    for w = 1, windows do
      local most, per = tonumber(ARGV[at + 2 * w - 1]), tonumber(ARGV[at + 2 * w])
      local since = '(' .. exact(now - per)
      local excess = redis.call('ZCOUNT', key, since, '+inf') - most
      if excess >= 0 then
        -- There is room when the youngest of those that are too many has left the window.
        local last = redis.call('ZRANGEBYSCORE', key, since, '+inf', 'WITHSCORES',
          'LIMIT', excess, 1)
        wait = math.max(wait, tonumber(last[2]) + per - now)
      end
    end
  end
  at = at + 1 + 2 * windows
end
if wait > 0 then return math.ceil(wait) end
for k, span in pairs(longest) do
  redis.call('ZADD', KEYS[k], exact(now), id)
  redis.call('PEXPIRE', KEYS[k], string.format('%.0f', math.ceil(span / 1000)))
end
return 0
"""
)
