-- KEEP: parts of traces, for a while. ARGV: ttl s, then shelf, lines, ...
local minute = math.floor(clock() / 60)
for at = 2, #ARGV, 2 do
  local key = traces_key(minute, ARGV[at])
  redis.call('RPUSH', key, ARGV[at + 1])
  redis.call('EXPIRE', key, ARGV[1])
end
return 0
