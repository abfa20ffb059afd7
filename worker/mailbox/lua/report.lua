-- REPORT: add what a process counted since its last report. Each report counts once: its reply may have been lost, and
-- then it comes again. ARGV: process, number of the report, '1' from an API replica, then field, difference, ...
local process, serial, is_api = unpack(ARGV, 1, 3)
local now = clock()
local key = 'miniserve:reported:' .. process
if (number(redis.call('GET', key)) or 0) < tonumber(serial) then
  local fields, sums = {}, {}
  for at = 4, #ARGV, 2 do fields[#fields + 1] = ARGV[at] end
  -- One command for all of them: of one HINCRBY for each a bad one would leave a half, to be added again and again.
  if #fields > 0 then
    local known = fields_of(TOTALS, unpack(fields))
    for at, field in ipairs(fields) do
      sums[2 * at - 1] = field
      sums[2 * at] = string.format('%.17g', (number(known[field]) or 0) + tonumber(ARGV[2 * at + 3]))
    end
    redis.call('HSET', TOTALS, unpack(sums))
  end
  redis.call('SET', key, serial, 'EX', 3600)
end
if is_api == '1' then
  redis.call('SADD', 'rq:queues', QUEUE, ASYNC)
  redis.call('ZADD', APIS, now, process)
  redis.call('ZREMRANGEBYSCORE', APIS, '-inf', now - API_TTL_S)
end
remember(now)
return 0
