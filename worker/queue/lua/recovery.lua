local function ids_run_by(worker)
  local ids = {}
  for _, member in ipairs(call('ZRANGE', WIP, 0, -1)) do
    local id, owner = owner_of(member)
    if owner == worker then ids[#ids + 1] = id end
  end
  return ids
end

-- Any of them, oldest first, may have killed their worker, and most are innocent. They come back in groups of about the
-- square root of their number, and each group runs with nothing beside it. The members of a group that kills again come
-- back one by one. Only a death by itself counts as an attempt (docs/adr/0016-suspects-in-groups.md).
local function suspect(ids)
  local size = math.floor(math.sqrt(#ids) + 0.5)
  for at, id in ipairs(ids) do
    local job = read(id, 'group', 'attempts')
    local group, attempts = job.group and id or ids[at - (at - 1) % size], number(job.attempts, 0, 99) or 0
    call('HSET', job_key(id), 'group', group, 'attempts', #ids == 1 and attempts + 1 or attempts,
      'special', 1)
  end
end

-- Back to the front of the queue, oldest first; the callers have taken the ids out of where they were. What `dead` had started
-- are suspects. A worker of RQ's that has started a job has an execution in rq:wip, and not its name. `claimer`: a worker that
-- takes them at once, before such a worker can.
local function requeue(ids, dead, claimer)
  local waiting, suspects, since = {}, {}, {}
  for _, id in ipairs(ids) do
    local job = read(id, 'status', 'accepted_at', 'cancel_requested', 'worker_name')
    local is_failed = is_undone(id, job.status)
    if not job.status then
      release(id) -- the job was deleted by hand
    elseif job.cancel_requested and (job.status == 'started' or is_failed) then
      cancel_job(id, job.cancel_requested, 'running')
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

-- Take everything a worker holds away from it; used when it leaves, when it died, and when its engine failed.
local function take_from(worker, has_died)
  local ids = ids_run_by(worker)
  for _, id in ipairs(ids) do call('ZREM', WIP, id .. ':' .. worker) end
  for _, id in ipairs(call('LRANGE', claim_key(worker), 0, -1)) do ids[#ids + 1] = id end
  call('DEL', claim_key(worker))
  return requeue(ids, has_died and worker)
end

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
