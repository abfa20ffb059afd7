-- Takes jobs back from workers.

local function ids_run_by(worker)
  local ids = {}
  for _, member in ipairs(call('ZRANGE', WIP, 0, -1)) do
    local id, owner = owner_of(member)
    if owner == worker then ids[#ids + 1] = id end
  end
  return ids
end

-- Marks the jobs that a dead worker ran, the oldest first: one of them may have killed it. They run again in groups of about
-- the square root of their number, each group alone. The members of a group that kills again run one by one. Only a death
-- alone counts as an attempt (docs/adr/0016-suspects-in-groups.md).
local function suspect(ids)
  local size = math.floor(math.sqrt(#ids) + 0.5)
  for at, id in ipairs(ids) do
    local job = read(id, 'group', 'attempts')
    local group, attempts = job.group and id or ids[at - (at - 1) % size], number(job.attempts, 0, 99) or 0
    call('HSET', job_key(id), 'group', group, 'attempts', #ids == 1 and attempts + 1 or attempts,
      'special', 1)
  end
end

-- Puts jobs back to the front of the queue, the oldest first; the caller has taken them from their place. Those that `dead` had
-- started are suspects. (Of a worker of RQ's, rq:wip holds an execution and not the name.) `claimer`: a worker that claims
-- them at once, before a worker of RQ's can. Returns their number.
local function requeue(ids, dead, claimer)
  local waiting, suspects, since = {}, {}, {}
  for _, id in ipairs(ids) do
    local job = read(id, 'status', 'accepted_at', 'cancel_requested', 'worker_name')
    local is_failed = is_undone(id, job.status)
    if not job.status then
      release(id) -- the job was deleted by hand
    elseif job.cancel_requested and (job.status == 'started' or is_failed) then
      if is_failed then put_back(id) end
      cancel_job(id, job.cancel_requested, job.worker_name and 'running' or 'waiting')
    elseif job.status == 'started' or job.status == 'queued' or is_failed then
      waiting[#waiting + 1], since[id] = id, number(job.accepted_at) or 0
      if is_failed then put_back(id) else call('HSET', job_key(id), 'status', 'queued', 'worker_name', '') end
      if dead and job.worker_name == dead and job.status == 'started' then suspects[#suspects + 1] = id end
    end
  end
  local function is_older(one, other) return since[one] < since[other] end
  table.sort(waiting, is_older)
  table.sort(suspects, is_older)
  if claimer and #waiting > 0 then in_slices('RPUSH', claim_key(claimer), waiting) else push_front(waiting) end
  suspect(suspects)
  return #waiting
end

-- Puts back all that a worker holds: it leaves, has died, or its engine has failed.
local function take_from(worker, has_died)
  local ids = ids_run_by(worker)
  for _, id in ipairs(ids) do call('ZREM', WIP, id .. ':' .. worker) end
  for _, id in ipairs(call('LRANGE', claim_key(worker), 0, -1)) do ids[#ids + 1] = id end
  call('DEL', claim_key(worker))
  return requeue(ids, has_died and worker)
end

-- Returns the number of decode workers.
local function sum_rates()
  local takers, sums = 0, { [''] = 0, prefill = 0, decode = 0 } -- '': all
  for rate, role in string.gmatch(table.concat(call('HVALS', RATES), '\n'), '(%S+) ?(%l*)') do
    takers, sums[role] = takers + (role == 'decode' and 0 or 1), (sums[role] or 0) + (number(rate, 0) or 0)
  end
  local sum = sums[''] + math.min(sums.prefill, sums.decode) -- of two pools the slower one counts
  call('HSET', COUNTS, 'service_rate', string.format('%.1f', sum), 'takers', takers)
  return call('HLEN', RATES) - takers
end

local function unregister(worker)
  local key = 'rq:worker:' .. worker
  call('SREM', 'rq:workers', key)
  call('SREM', 'rq:workers:correct', key)
  call('SREM', 'rq:workers:correct-async', key)
  call('DEL', key, key .. ':executions', 'rq:job:batch-' .. worker, inbox_key(worker))
  call('ZREM', LEASES, worker)
  call('HDEL', RATES, worker)
  sum_rates()
end
