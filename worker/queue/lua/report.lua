-- REPORT: add what a process counted since its last report. A report whose reply was lost is sent again, and counts once.
-- ARGV: process, number of the report, '1' from an API replica, then field, difference, ...
local process, serial, is_api = unpack(ARGV, 1, 3)
local key = 'miniserve:reported:' .. process
if (number(call('GET', key)) or 0) < tonumber(serial) then
  local fields, sums = {}, {}
  for at = 4, #ARGV, 2 do fields[#fields + 1] = ARGV[at] end
  local known = #fields > 0 and fields_of(TOTALS, unpack(fields)) or {}
  -- All sums are made before the first is written: a bad number must not leave a half that is added again.
  for at = 4, #ARGV, 2 do
    sums[#sums + 1] = ARGV[at]
    sums[#sums + 1] = string.format('%.17g', (number(known[ARGV[at]]) or 0) + tonumber(ARGV[at + 1]))
  end
  in_slices('HSET', TOTALS, sums)
  call('SET', key, serial, 'EX', 3600)
end
if is_api == '1' then
  call('SADD', 'rq:queues', QUEUE, ASYNC)
  call('ZADD', APIS, now, process)
  call('ZREMRANGEBYSCORE', APIS, '-inf', now - API_TTL_S)
end
remember(now)
return 0
