-- BEAT: renew this worker's lease, take back the jobs of dead workers, and forget answers whose time is over. Once a second it
-- also shows the worker to RQ's tools, takes back all other jobs that no live worker holds, and puts right what RQ's tools or
-- an operator changed.
-- ARGV: worker, lease in s, seconds since its last iteration; once a second also the number of jobs that it holds, its rate in
-- reserved tokens/s with its role, then fields and values of its RQ worker hash.
-- Returns { 1 if the lease had run out, jobs taken back, 1 if a client watches, 1 if RQ's workers are suspended, number of workers,
-- and once a second: jobs put right, decode workers }
local worker, lease_s, idle_s, num_held, rate = unpack(ARGV, 1, 5)
local key, num_taken_back, num_changed, needs_rules = 'rq:worker:' .. worker, 0, 0, false
call('DEL', 'miniserve:nothing') -- a Redis without memory takes this write, and then the others
local had_lease, leased = call('ZSCORE', LEASES, worker), call('ZRANGE', LEASES, 0, -1)
-- The numbers differ after a change from outside, such as a dashboard that emptied a queue or put a dead letter back:
-- reconcile.lua is needed.
if num_held then
  local num_placed, num_open = num_queued() + call('ZCARD', WIP), call('HLEN', RESERVATIONS)
  for _, each in ipairs(leased) do num_placed = num_placed + call('LLEN', claim_key(each)) end
  needs_rules = num_open ~= num_placed or num_open ~= counts('reserved_requests').reserved_requests
end
call('ZADD', LEASES, now + tonumber(lease_s), worker)
call('HSET', key, 'turned_at', string.format('%.3f', now - tonumber(idle_s)))
if not had_lease then call('EXPIRE', key, 60) end -- until it registers

-- If this worker's own lease had run out too, it was Redis that stood still: wait for another beat.
if had_lease and tonumber(had_lease) > now then
  for _, dead in ipairs(call('ZRANGEBYSCORE', LEASES, '-inf', now)) do
    num_taken_back = num_taken_back + take_from(dead, true)
    unregister(dead)
  end
end

local over, keys = call('ZRANGEBYSCORE', registry_of('finished'), '-inf', now, 'LIMIT', 0, 2000), {} -- a few ms at most
for _, id in ipairs(over) do
  keys[#keys + 1] = job_key(id)
  keys[#keys + 1] = 'rq:results:' .. id
end
in_slices('DEL', 'miniserve:nothing', keys)
if #over > 0 then call('ZREMRANGEBYRANK', registry_of('finished'), 0, #over - 1) end

local is_suspended = call('EXISTS', SUSPENDED)
local reply = { had_lease and 0 or 1, num_taken_back, call('EXISTS', 'miniserve:watched'), is_suspended, call('ZCARD', LEASES) }
if not num_held then
  close()
  return reply
end
