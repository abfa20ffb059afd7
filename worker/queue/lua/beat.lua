-- BEAT: renew this worker's lease, take the work of dead workers back, and forget the answers whose time is over.
-- ARGV: worker, lease s, seconds since its last iteration.
-- Returns { lost lease, number of requests taken back, somebody watches, suspended }
local worker, lease_s, idle_s = unpack(ARGV)
local key, taken_back = 'rq:worker:' .. worker, 0
-- First a write that a Redis without memory takes: then it takes the others, and the work of the dead is not left with them.
call('DEL', 'miniserve:nothing')
local had_lease = call('ZSCORE', LEASES, worker)
call('ZADD', LEASES, now + tonumber(lease_s), worker)
call('HSET', key, 'turned_at', string.format('%.3f', now - tonumber(idle_s)))
if not had_lease then call('EXPIRE', key, 60) end -- until it registers

-- If our own lease had run out too, it was Redis that stood still and not the others that died: wait for another beat.
if had_lease and tonumber(had_lease) > now then
  for _, dead in ipairs(call('ZRANGEBYSCORE', LEASES, '-inf', now)) do
    taken_back = taken_back + take_from(dead, true)
    unregister(dead)
  end
end

local over, keys = call('ZRANGEBYSCORE', registry_of('finished'), '-inf', now, 'LIMIT', 0, 2000), {} -- some ms at most
for _, id in ipairs(over) do
  keys[#keys + 1] = job_key(id)
  keys[#keys + 1] = 'rq:results:' .. id
end
if #over > 0 then
  in_slices('DEL', 'miniserve:nothing', keys)
  call('ZREMRANGEBYRANK', registry_of('finished'), 0, #over - 1)
end
close()
return { had_lease and 0 or 1, taken_back, call('EXISTS', 'miniserve:watched'), call('EXISTS', SUSPENDED) }
