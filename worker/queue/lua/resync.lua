-- RESYNC: after a broken connection or a lost lease, compare the jobs that the worker holds with those that Redis says it runs.
-- A job that it does not hold was delivered by a reply that was lost, and goes back to the queue.
-- ARGV: worker, lease in s, epoch, ids that it holds. Returns the ids that it no longer runs.
local worker, lease_s, epoch = unpack(ARGV, 1, 3)
call('DEL', inbox_key(worker)) -- a Redis without memory takes this write, and then the others
call('ZADD', LEASES, now + tonumber(lease_s), worker)
call('HSET', inbox_key(worker), 'epoch', epoch)
push_front(call('LPOP', claim_key(worker), 1000) or {})

local is_held, lost = {}, {}
for at = 4, #ARGV do is_held[ARGV[at]] = true end
for _, id in ipairs(ids_run_by(worker)) do
  local job = read(id, 'status', 'worker_name', 'cancel_requested')
  local is_own = job.status == 'started' and job.worker_name == worker
  if is_own and is_held[id] then
    is_held[id] = nil
    if job.cancel_requested then call('HSET', inbox_key(worker), id, job.cancel_requested) end
  else
    call('ZREM', WIP, id .. ':' .. worker)
    if is_own or not job.status then lost[#lost + 1] = id end
  end
end
requeue(lost)
close()

local disowned = {}
for id in pairs(is_held) do disowned[#disowned + 1] = id end
return disowned
