"""What of a record names its recipient besides: what providers said, and their own numbers."""

from typing import Final

# The state, the generation and the digest stay until they are forgotten with the record: they
# keep a stray copy of the message from being sent.
ERASE: Final = """
local key = KEYS[1]
local what = redis.call('TYPE', key)['ok']
if what == 'none' then return 0 end
if what == 'string' then
  local parts = {}
  for part in string.gmatch(redis.call('GET', key) .. '|', '([^|]*)|') do
    parts[#parts + 1] = part
  end
  parts[7] = ''
  redis.call('SET', key, table.concat(parts, '|'), 'KEEPTTL')
  return 1
end
local n = tonumber(redis.call('HGET', key, 'hn') or '0')
for i = 1, n do redis.call('HDEL', key, 'h' .. i) end
redis.call('HDEL', key, 'hn')
return 1
"""
