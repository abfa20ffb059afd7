-- REPORT: add what a process counted since its last report. Each report counts once: its reply may have been lost, and
-- then it comes again. ARGV: process, number of the report, '1' from an API replica, then field, difference, ...
local process, number, is_api = unpack(ARGV, 1, 3)
local now = clock()
local key = 'miniserve:reported:' .. process
if tonumber(redis.call('GET', key) or 0) < tonumber(number) then
  for at = 4, #ARGV, 2 do
    local is_whole = string.find(ARGV[at + 1], '^-?%d+$')
    redis.call(is_whole and 'HINCRBY' or 'HINCRBYFLOAT', TOTALS, ARGV[at], ARGV[at + 1])
  end
  redis.call('SET', key, number, 'EX', 3600)
end
if is_api == '1' then
  redis.call('ZADD', APIS, now, process)
  redis.call('ZREMRANGEBYSCORE', APIS, '-inf', now - API_TTL_S)
end
remember(now)
return 0
