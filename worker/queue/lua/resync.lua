-- RESYNC: after a broken connection or a lost lease, compare what the worker holds with what Redis says it holds.
-- ARGV: worker, lease s, epoch, ids it holds.
-- Returns { ids no longer its own, { id, attempt, waited us, data, streams, deadline in us, 1 of a suspect }... }
local worker, lease_s, epoch = unpack(ARGV, 1, 3)
call('DEL', inbox_key(worker)) -- first: a Redis without memory takes this write, and then the others
call('ZADD', LEASES, now + tonumber(lease_s), worker)
call('HSET', inbox_key(worker), 'epoch', epoch)
-- What a connection that broke had claimed goes back.
push_front(call('LPOP', claim_key(worker), 1000) or {})

local is_held, is_own = {}, {}
for at = 4, #ARGV do is_held[ARGV[at]] = true end

local deliveries = {}
for _, id in ipairs(ids_run_by(worker)) do
  local job = job_to_run(id, 0)
  if job.status == 'started' and job.worker_name == worker then
    is_own[id] = true
    if job.cancel_requested then call('HSET', inbox_key(worker), id, job.cancel_requested) end
    if not is_held[id] then -- the reply that brought it was lost
      deliveries[#deliveries + 1] = delivery(id, job)
    end
  else
    call('ZREM', WIP, id .. ':' .. worker)
    if not job.status then release(id) end
  end
end

close()
local disowned = {}
for id in pairs(is_held) do
  if not is_own[id] then disowned[#disowned + 1] = id end
end
return { disowned, deliveries }
